/*
 * seat.c - see seat.h.
 * Tests: tests/unit/test_factory_seat.c
 */
#include "factory/seat.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fs.h"
#include "base/mem.h"

#define SEAT_FILE "worker.lock"

int seat_try(const char *data_dir, int *ret_fd, struct err *err)
{
    struct flock want = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    autofree char *path = fs_join(data_dir, SEAT_FILE);
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        return err_sys(err, errno, "OpenFailed", "cannot open %s", path);
    }
    if (fcntl(fd, F_OFD_SETLK, &want) == 0) {
        *ret_fd = fd;
        fd = -1;
        return 0;
    }
    if (errno == EAGAIN || errno == EACCES) {
        return 1;
    }
    return err_sys(err, errno, "LockFailed", "cannot lock %s", path);
}

bool seat_is_taken(const char *data_dir)
{
    struct flock probe = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    autofree char *path = fs_join(data_dir, SEAT_FILE);
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &probe) == 0 && probe.l_type != F_UNLCK;
}
