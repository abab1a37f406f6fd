// serve.c - a web server for one page and a handful of files.
//
// In:  connections to 127.0.0.1:9001.
// Out: HTTP/1.1 answers, one a connection. Browsers open connections that they then leave silent, so
//      requests are gathered from several connections at once; answers are sent one by one.
//
// Not here: what is printed (view.c).

#include "cli/serve.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "trace/source.h"

#define REQUEST_ROOM 16384
#define GUESTS 16
#define SEND_STALL_S 60
#define COPY_ROOM (256u << 10)

struct guest {
    int fd; // -1: free
    size_t used;
    unsigned long age; // the oldest silent guest makes room for a new one
    char request[REQUEST_ROOM + 1];
};

struct server {
    struct fp_serve_file *files;
    size_t file_count;
    void (*say)(const char *sentence);
    unsigned long clock;
    char *copy;
    struct guest guests[GUESTS];
};

static void say(struct server *server, const char *format, ...) FP_PRINTF(2, 3);
static void say(struct server *server, const char *format, ...) {
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    server->say(sentence);
}

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

int fp_serve_describe(const char *path, struct fp_serve_file *file, struct fp_error *err) {
    struct fp_source *source;
    if (strcmp(path, "-") == 0) {
        fp_error_set(err, "standard input can be read only once; write it to a file and view that");
        return -EINVAL;
    }
    int code = fp_source_open(path, &source, err);
    if (code)
        return code;
    memset(file, 0, sizeof(*file));
    file->path = path;
    file->unpack = fp_source_packing(source) == FP_PACKING_ZSTD;
    fp_source_close(source);
    const char *base = strrchr(path, '/');
    snprintf(file->name, sizeof(file->name) - 8, "%s", base ? base + 1 : path);
    for (char *at = file->name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '.' && *at != '_' && *at != '-')
            *at = '_';
    if (file->unpack && ends_with(file->name, ".zst"))
        file->name[strlen(file->name) - 4] = 0;
    if (!file->name[0] || strspn(file->name, ".") == strlen(file->name))
        snprintf(file->name, sizeof(file->name), "trace.json");
    return 0;
}

int fp_serve_listen(struct fp_error *err) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(FP_SERVE_PORT),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, GUESTS) != 0) {
        int code = -errno;
        if (code == -EADDRINUSE)
            fp_error_set(
                err,
                "port %d of 127.0.0.1 is in use, perhaps by another `flagprof view`, and Perfetto's page may "
                "fetch from no other. End that program, or open the file with the page's own button",
                FP_SERVE_PORT);
        else
            fp_error_set(err, "cannot listen on 127.0.0.1:%d: %s", FP_SERVE_PORT, strerror(-code));
        if (fd >= 0)
            close(fd);
        return code;
    }
    return fd;
}

// Sends all of it; false when the other side went away or took nothing for a minute.
static bool send_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size) {
        ssize_t step = send(fd, at, size, MSG_NOSIGNAL);
        if (step < 0 && errno == EINTR)
            continue;
        if (step <= 0)
            return false;
        at += step;
        size -= (size_t)step;
    }
    return true;
}

static bool send_head(int fd, const char *status, const char *more) {
    char head[1024];
    int size = snprintf(head, sizeof(head),
                        "HTTP/1.1 %s\r\n"
                        "Access-Control-Allow-Origin: " FP_SERVE_ORIGIN "\r\n"
                        "Access-Control-Allow-Private-Network: true\r\n"
                        "Vary: Origin\r\n"
                        "Cache-Control: no-cache, no-store\r\n"
                        "X-Content-Type-Options: nosniff\r\n"
                        "Connection: close\r\n%s\r\n",
                        status, more);
    return send_all(fd, head, (size_t)size);
}

static void send_refusal(int fd, const char *status, const char *sentence) {
    char more[128];
    snprintf(more, sizeof(more), "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n",
             strlen(sentence));
    if (send_head(fd, status, more))
        (void)send_all(fd, sentence, strlen(sentence));
}

static const char *content_type(const struct fp_serve_file *file) {
    return ends_with(file->name, ".json") ? "application/json" : "application/octet-stream";
}

// Whether the other side took everything: it closes its end after ours, and a reset shows as an error.
static bool wait_for_end(int fd) {
    char rest[512];
    struct timeval patience = { 5, 0 };
    shutdown(fd, SHUT_WR);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    for (;;) {
        ssize_t got = recv(fd, rest, sizeof(rest), 0);
        if (got == 0)
            return true;
        if (got < 0)
            return errno == EAGAIN ||
                   errno == EWOULDBLOCK; // still open: it keeps the connection, and it has the bytes
    }
}

// The file as it is, with its length.
static bool send_plain(struct server *server, int fd, const struct fp_serve_file *file, bool with_body) {
    struct stat stat;
    char more[256];
    int in = open(file->path, O_RDONLY | O_CLOEXEC);
    if (in < 0 || fstat(in, &stat) != 0) {
        say(server, "cannot open %s: %s", file->path, strerror(errno));
        send_refusal(fd, "500 Internal Server Error", "the file can no longer be read\n");
        if (in >= 0)
            close(in);
        return false;
    }
    snprintf(more, sizeof(more), "Content-Type: %s\r\nContent-Length: %lld\r\n", content_type(file),
             (long long)stat.st_size);
    bool sent = send_head(fd, "200 OK", more);
    off_t left = with_body ? stat.st_size : 0;
    while (sent && left > 0) {
        ssize_t got = read(in, server->copy, left < (off_t)COPY_ROOM ? (size_t)left : COPY_ROOM);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            say(server, "%s became shorter while it was being read", file->path);
            sent = false;
        } else {
            sent = send_all(fd, server->copy, (size_t)got);
            left -= got;
        }
    }
    close(in);
    return sent && with_body && wait_for_end(fd);
}

// The text of a .zst, whose length is known only at its end: in chunks, so that a break is seen as one.
static bool send_unpacked(struct server *server, int fd, const struct fp_serve_file *file, bool with_body) {
    struct fp_source *source;
    struct fp_error err = { "" };
    char line[128];
    if (fp_source_open(file->path, &source, &err)) {
        say(server, "%s", err.text);
        send_refusal(fd, "500 Internal Server Error", "the file can no longer be read\n");
        return false;
    }
    snprintf(line, sizeof(line), "Content-Type: %s\r\nTransfer-Encoding: chunked\r\n", content_type(file));
    bool sent = send_head(fd, "200 OK", line);
    int64_t got = 0;
    while (sent && with_body && (got = fp_source_read(source, server->copy, COPY_ROOM, &err)) > 0) {
        int size = snprintf(line, sizeof(line), "%llx\r\n", (unsigned long long)got);
        sent = send_all(fd, line, (size_t)size) && send_all(fd, server->copy, (size_t)got) &&
               send_all(fd, "\r\n", 2);
    }
    if (got < 0)
        say(server, "%s", err.text);
    else if (fp_source_flags(source) & (FP_SOURCE_CUT | FP_SOURCE_DAMAGED))
        say(server, "%s is cut short or damaged; what could be unpacked was sent", file->path);
    if (sent && with_body && got == 0)
        sent = send_all(fd, "0\r\n\r\n", 5);
    fp_source_close(source);
    return sent && with_body && got == 0 && wait_for_end(fd);
}

// A header's value within the request; NULL where there is none. `size` is its length.
static const char *header_value(const char *request, const char *name, size_t *size) {
    size_t length = strlen(name);
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1 + strspn(line + length + 1, " \t");
            *size = strcspn(value, "\r\n");
            return value;
        }
    }
    return NULL;
}

// A page elsewhere that made its own name point at 127.0.0.1 gives that name here and gets nothing.
static bool host_is_ours(const char *request) {
    static const char *ours[] = { "127.0.0.1:9001", "localhost:9001", "127.0.0.1", "localhost" };
    size_t size;
    const char *host = header_value(request, "Host", &size);
    if (!host)
        return true;
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (strlen(ours[i]) == size && strncasecmp(host, ours[i], size) == 0)
            return true;
    return false;
}

static void answer_preflight(int fd) {
    (void)send_head(fd, "204 No Content",
                    "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"
                    "Access-Control-Allow-Headers: *\r\n"
                    "Access-Control-Max-Age: 0\r\n");
}

static struct fp_serve_file *find_file(struct server *server, const char *target) {
    size_t size = strcspn(target, "? \r\n");
    for (size_t i = 0; i < server->file_count; i++)
        if (size == strlen(server->files[i].name) + 1 && target[0] == '/' &&
            strncmp(target + 1, server->files[i].name, size - 1) == 0)
            return &server->files[i];
    return NULL;
}

static void answer_file(struct server *server, int fd, struct fp_serve_file *file, bool with_body) {
    bool whole = (file->unpack ? send_unpacked : send_plain)(server, fd, file, with_body);
    if (with_body && whole)
        file->fetched = true;
    else if (with_body)
        say(server, "a fetch of %s broke off; still serving it", file->name);
}

static void answer(struct server *server, int fd, const char *request) {
    struct timeval stall = { SEND_STALL_S, 0 };
    int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
    const char *space = strchr(request, ' ');
    size_t method = space ? (size_t)(space - request) : 0;
    if (!space || !strstr(space + 1, " HTTP/1.") || !host_is_ours(request)) {
        send_refusal(fd, "400 Bad Request", "not a request that this server answers\n");
        return;
    }
    if (method == 7 && memcmp(request, "OPTIONS", 7) == 0) {
        answer_preflight(fd);
        return;
    }
    bool get = method == 3 && memcmp(request, "GET", 3) == 0;
    if (!get && !(method == 4 && memcmp(request, "HEAD", 4) == 0)) {
        send_refusal(fd, "405 Method Not Allowed", "only GET, HEAD and OPTIONS\n");
        return;
    }
    struct fp_serve_file *file = find_file(server, space + 1);
    if (file)
        answer_file(server, fd, file, get);
    else
        send_refusal(fd, "404 Not Found", "no such file is served here\n");
}

static void dismiss(struct guest *guest) {
    close(guest->fd);
    guest->fd = -1;
    guest->used = 0;
}

static void admit(struct server *server, int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct guest *place = &server->guests[0];
    for (int i = 0; i < GUESTS && place->fd >= 0; i++)
        if (server->guests[i].fd < 0 || server->guests[i].age < place->age)
            place = &server->guests[i];
    if (place->fd >= 0)
        dismiss(place);
    place->fd = fd;
    place->age = ++server->clock;
}

static void listen_to(struct server *server, struct guest *guest) {
    ssize_t got = recv(guest->fd, guest->request + guest->used, REQUEST_ROOM - guest->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        dismiss(guest);
        return;
    }
    guest->used += (size_t)got;
    guest->request[guest->used] = 0;
    if (strstr(guest->request, "\r\n\r\n") || memchr(guest->request, 0, guest->used)) {
        answer(server, guest->fd, guest->request);
        dismiss(guest);
    } else if (guest->used == REQUEST_ROOM) {
        send_refusal(guest->fd, "431 Request Header Fields Too Large", "request too large\n");
        dismiss(guest);
    }
}

static bool all_fetched(const struct server *server) {
    for (size_t i = 0; i < server->file_count; i++)
        if (!server->files[i].fetched)
            return false;
    return true;
}

static int serve_until_fetched(struct server *server, int listener, struct fp_error *err) {
    while (!all_fetched(server)) {
        struct pollfd watched[GUESTS + 1] = { { listener, POLLIN, 0 } };
        struct guest *guests[GUESTS + 1] = { NULL };
        nfds_t count = 1;
        for (int i = 0; i < GUESTS; i++)
            if (server->guests[i].fd >= 0) {
                guests[count] = &server->guests[i];
                watched[count++] = (struct pollfd){ server->guests[i].fd, POLLIN, 0 };
            }
        if (poll(watched, count, -1) < 0) {
            if (errno == EINTR)
                continue;
            int code = -errno;
            fp_error_set(err, "cannot wait for connections: %s", strerror(-code));
            return code;
        }
        for (nfds_t i = 1; i < count && !all_fetched(server); i++)
            if (watched[i].revents)
                listen_to(server, guests[i]);
        if (watched[0].revents)
            admit(server, listener);
    }
    return 0;
}

int fp_serve_run(int listener, struct fp_serve_file *files, size_t count,
                 void (*say_to)(const char *sentence), struct fp_error *err) {
    int code = -ENOMEM;
    struct server *server = calloc(1, sizeof(*server));
    if (server) {
        for (int i = 0; i < GUESTS; i++)
            server->guests[i].fd = -1;
        server->files = files;
        server->file_count = count;
        server->say = say_to;
        server->copy = malloc(COPY_ROOM);
    }
    if (server && server->copy)
        code = serve_until_fetched(server, listener, err);
    else
        fp_error_set(err, "not enough memory to serve files");
    close(listener);
    if (server) {
        for (int i = 0; i < GUESTS; i++)
            if (server->guests[i].fd >= 0)
                close(server->guests[i].fd);
        free(server->copy);
    }
    free(server);
    return code;
}
