# code.awk - C source without comments and without the insides of texts, as FILE:LINE:CODE.
# Must not: change the number of lines. Tests: tests/tidy/selftest.sh.
FNR == 1 { inside = 0 }
{
    rest = $0
    out = ""
    while (rest != "") {
        if (inside) {
            end = index(rest, "*/")
            if (end == 0) { rest = ""; break }
            rest = substr(rest, end + 2)
            inside = 0
            out = out " "
            continue
        }
        if (!match(rest, /["']|\/\*|\/\//)) { out = out rest; break }
        mark = substr(rest, RSTART, 1)
        out = out substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART)
        if (mark == "\"" && match(rest, /^"([^"\\]|\\.)*"/)) {
            out = out "\"\""
            rest = substr(rest, RLENGTH + 1)
        } else if (mark == "'" && match(rest, /^'([^'\\]|\\.[^']*)'/)) {
            out = out "0"
            rest = substr(rest, RLENGTH + 1)
        } else if (mark == "/" && substr(rest, 2, 1) == "*") {
            inside = 1
            rest = substr(rest, 3)
        } else if (mark == "/") {
            rest = ""
        } else {
            out = out mark
            rest = substr(rest, 2)
        }
    }
    print FILENAME ":" FNR ":" out
}
