# durable-man.awk - durable(3) out of include/durable.h, so that the two cannot drift.
#
# Usage: awk -v version=V -v example=FILE.c -f durable-man.awk HEADER... >durable.3
#        awk -v names=1 -f durable-man.awk HEADER...    one name of a function a line
#        awk -v check=1 -f durable-man.awk HEADER...    names that nothing explains, status 1
# HEADER...: durable.h and its parts, in the order in which it includes them.
# Owns: what the header's form means to a reader of the page. In the header
#   - the first comment is the DESCRIPTION; a paragraph may begin with a HEADING in capitals.
#   - "/* --- title ---" begins a section; what follows in that comment is its text.
#   - a comment in the first column is the text of the declarations after it, up to an empty line or
#     the next such comment. Lines of a comment that are indented by four blanks or more are shown
#     as they are.
#   - DUR_API begins a function. NAME_at() behind a macro NAME() is shown as NAME(), without the
#     arguments that the macro adds (size, file, line).
#   - types and constants are shown as they are.
# Everything is plain awk (mawk, gawk, busybox). Tests: tests/tidy/manual.sh


# A line of text; *word* is set in italics.
function say(text,    word) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    while (!in_code && match(text, /\*[a-z]+\*/)) {
        word = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, 1, RSTART - 1) "\\fI" word "\\fP" substr(text, RSTART + RLENGTH)
    }
    if (text ~ /^[.']/) printf "\\&" >out
    print text >out
}

function title(text) {
    sub(/^[^A-Za-z]*/, "", text)
    sub(/[ -]*(\*\/)?[ ]*$/, "", text)
    return text
}

# The lines of a comment, without its frame: paragraphs, code, headings.
function say_text(text,    n, i, line, lines, in_code, was_blank) {
    n = split(text, lines, "\n")
    was_blank = 1
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (line ~ /^[ ]*$/) {
            if (in_code) { print ".fi\n.RE" >out; in_code = 0 }
            was_blank = 1
            continue
        }
        if (line ~ /^    / && !is_preface) {
            if (!in_code) { print ".PP\n.RS 4\n.nf" >out; in_code = 1 }
            sub(/^    /, "", line)
            say(line)
            continue
        }
        if (in_code) { print ".fi\n.RE" >out; in_code = 0; was_blank = 1 }
        sub(/^[ ]+/, "", line)
        if (was_blank && is_preface && match(line, /^[A-Z][A-Z ]+[A-Z](\.|$)/)) {
            print ".SS " substr(line, 1, RLENGTH - (line ~ /^[A-Z ]+\./ ? 1 : 0)) >out
            line = substr(line, RLENGTH + 1)
            sub(/^[ ]+/, "", line)
            was_blank = 0
            if (line == "") continue
        }
        if (was_blank || line ~ /^- /) print ".PP" >out
        was_blank = 0
        say(line)
    }
    if (in_code) print ".fi\n.RE" >out
}

# A function's declaration as a caller writes it.
function prototype(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^DUR_API /, "", text)
    sub(/ DUR_PRINTF\([^)]*\)/, "", text)
    if (text ~ /_at\(/) {
        sub(/_at\(/, "(", text)
        sub(/, const char \*file, int line\)/, ")", text)
        sub(/, size_t [a-z]+_size/, "", text)
    }
    return text
}

function name_of(text) {
    text = prototype(text)
    sub(/\(.*/, "", text)
    sub(/.*[ *]/, "", text)
    return text
}

function say_wrapped(text,    indent, cut, head) {
    indent = ""
    while (length(indent text) > 78) {
        cut = 78 - length(indent)
        while (cut > 20 && substr(text, cut - 1, 2) != ", ") cut--
        if (cut <= 20) break
        head = substr(text, 1, cut - 1)
        say(indent head)
        text = substr(text, cut + 1)
        indent = "    "
    }
    say(indent text)
}

# One group: heading, declarations, text.
function flush_group(    i, n, lines) {
    if (body != "") {
        print ".SS " (heading != "" ? heading : "Types") >out
        print ".nf" >out
        n = split(body, lines, "\n")
        for (i = 1; i <= n; i++) {
            if (lines[i] ~ /^\001/) say_wrapped(substr(lines[i], 2))
            else if (lines[i] != "") say(lines[i])
        }
        print ".fi" >out
        if (doc != "") say_text(doc)
    } else if (doc != "") say_text(doc)
    doc = body = heading = ""
    functions = 0
}

function add_heading(name) {
    if (("," heading ",") !~ ("[ ,]" name ",")) heading = heading (heading == "" ? "" : ", ") name
}

function begin_page() {
    print ".\\\" made from durable.h by build-aux/durable-man.awk" >out
    print ".TH durable 3 \"\" \"factory " version "\" \"Library Functions\"" >out
    print ".SH NAME" >out
    print "durable \\- durable workflows in plain C on one SQLite file" >out
    print ".SH SYNOPSIS" >out
    print ".nf\n#include <durable.h>\n\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs durable)\n.fi" >out
}

BEGIN { out = check ? "/dev/null" : "/dev/stdout"; if (!names && !check) begin_page() }

# --- comments in the first column ---
in_comment {
    line = $0
    ends = line ~ /\*\//
    sub(/[ ]*\*\/.*/, "", line)
    sub(/^ \*[ ]?/, "", line)
    text = text line "\n"
    if (!ends) next
    in_comment = 0
    if (!names) take_comment(text)
    next
}
/^\/\*/ {
    if (!names) flush_group()
    line = $0
    sub(/^\/\*[ ]?/, "", line)
    if (line ~ /\*\//) {
        sub(/[ ]*\*\/.*/, "", line)
        if (!names) take_comment(line "\n")
    } else {
        text = line "\n"
        in_comment = 1
    }
    next
}
function take_comment(text,    first) {
    first = text
    sub(/\n.*/, "", first)
    if (first ~ /^---/) {
        sub(/^[^\n]*\n/, "", text)
        print ".SH " toupper(title(first)) >out
        doc = text
        flush_group()
        section_text = text
    } else if (preface_done && text ~ /^(clang-format|\n?[a-z]+\.h - )/) {
        return # the head of a part, or not for people
    } else if (!preface_done) {
        preface_done = 1
        sub(/^[^\n]*\n/, "", text)
        print ".SH DESCRIPTION" >out
        is_preface = 1
        say_text(text)
        is_preface = 0
    } else {
        doc = text
        section_text = ""
    }
}

# --- what is not for readers ---
/^#[ ]*define dur_/ || in_macro { in_macro = $0 ~ /\\$/; next }
/^#[ ]*define DUR_(API|PRINTF)/ || /^#[ ]*(if|else|elif|endif|include|ifndef|error|define DURABLE_)/ { next }
/^extern "C"/ || /^}$/ { next }
/^$/ && !in_type { if (!names) flush_group(); next }

# --- functions ---
/^DUR_API/ || declaration != "" {
    line = $0
    note = ""
    if (match(line, /[ ]*\/\*.*\*\/[ ]*$/)) { note = substr(line, RSTART); line = substr(line, 1, RSTART - 1) }
    declaration = declaration line "\n"
    if (line !~ /;[ ]*$/) next
    name = name_of(declaration)
    if (names) print name
    else {
        add_heading(name)
        if (note == "" && !(functions++ == 0 && (doc != "" || section_text != "")) &&
            !index(doc section_text, name))
            undocumented = undocumented " " name
        body = body "\001" prototype(declaration) "\n"
        if (note != "") {
            sub(/^[ ]*/, "    ", note)
            body = body note "\n"
        }
    }
    declaration = ""
    next
}
# --- types and constants ---
!names {
    if (!in_type && match($0, /^typedef (enum|struct) dur_[a-z_]+/)) {
        name = $3
        sub(/;$/, "", name)
        add_heading(name)
        in_type = $0 ~ /{$/
    } else if (!in_type && match($0, /\(\*dur_[a-z_]+\)/)) {
        add_heading(substr($0, RSTART + 2, RLENGTH - 3))
    } else if (/^#define DUR_/) {
        if (heading == "") heading = "Constants"
    } else if (/^} dur_/) in_type = 0
    body = body $0 "\n"
}

END {
    if (names) exit 0
    flush_group()
    if (check) {
        gsub(/ /, "\n", undocumented)
        printf "%s", substr(undocumented, 2) (undocumented == "" ? "" : "\n")
        exit undocumented != ""
    }
    print ".SH EXAMPLE\n.nf" >out
    while ((getline line <example) > 0) {
        if (line == "") print ".sp" >out
        else say(line)
    }
    print ".fi" >out
    print ".SH SEE ALSO\n.BR factory (1),\n.BR sqlite3 (1)" >out
    print ".PP\nThe guide engine.md, and examples of one idea each, lie in the documentation directory." >out
}
