/* SPDX-License-Identifier: MIT */
#include "base/keylog.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECRET_MAX 64u /* bytes: a digest of at most 512 bits */

static int file = -1;

/* GnuTLS reads the variable by itself. */
int keylog_set(const char *path, struct problem *problem)
{
    struct stat status;
    int result = unsetenv("SSLKEYLOGFILE");
    if (!path)
        return result;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0 || fstat(fd, &status) < 0)
        result = problem_failure(problem, "--keylog %s: %s", path, strerror(errno));
    else if (S_ISREG(status.st_mode) && status.st_mode & 077)
        result = problem_failure(problem, "--keylog %s: other users can read it; chmod 600", path);
    if (file >= 0) /* the option was given before */
        close(file);
    file = fd;
    return result;
}

int keylog_descriptor(void)
{
    return file;
}

/* One call: lines of several threads do not mix. */
void keylog_write(const char *line)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)line, strlen(line)}, {"\n", 1}};
    if (file >= 0 && writev(file, parts, 2) < 0)
        return; /* a full disk: the capture cannot be decrypted, and the run goes on */
}

void keylog_secret(const char *label, const uint8_t random[KEYLOG_RANDOM_SIZE], const uint8_t *secret,
                   size_t size)
{
    char line[64 + 2 * (KEYLOG_RANDOM_SIZE + SECRET_MAX) + 3];
    if (file < 0 || size > SECRET_MAX)
        return;
    int length = snprintf(line, 64, "%.62s ", label);
    hex_format(line + length, random, KEYLOG_RANDOM_SIZE);
    strcat(line, " ");
    hex_format(line + strlen(line), secret, size);
    keylog_write(line);
    secret_wipe(line, sizeof line);
}
