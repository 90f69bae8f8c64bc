// The HTTP library of the hub with nothing behind it: takes a body, and answers one of the size that
// the path says, all of it spaces. `raw-http` prints its port and runs until its input ends.
//
// It has the two threads of a hub, and hands them its connections in turn as a hub does. Where the
// library accepts by itself, all connections of a moment lie on one thread, which then wakes once for
// many requests.

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SIZE_MAX_BYTES = 64 << 20 };

static char *spaces;

static enum MHD_Result answer(
    void *context, struct MHD_Connection *connection, const char *path, const char *method,
    const char *version, const char *data, size_t *count, void **state) {
    (void)context;
    (void)method;
    (void)version;
    (void)data;
    if (*state == NULL) {
        *state = connection;
        return MHD_YES;
    }
    if (*count > 0) {
        *count = 0;
        return MHD_YES;
    }
    unsigned long size = strtoul(path + 1, NULL, 10);
    unsigned int status = size <= SIZE_MAX_BYTES ? MHD_HTTP_OK : MHD_HTTP_BAD_REQUEST;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        status == MHD_HTTP_OK ? size : 0, spaces, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static int listen_on_loopback(unsigned short *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t count = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, count) != 0 ||
        listen(descriptor, SOMAXCONN) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &count) != 0)
        return -1;
    *port = ntohs(address.sin_port);
    return descriptor;
}

/// Hands the library the next connection, which it closes also where it does not take it.
static void accept_one(struct MHD_Daemon *daemon, int listener) {
    struct sockaddr_in peer;
    socklen_t count = sizeof peer;
    int descriptor = accept(listener, (struct sockaddr *)&peer, &count);
    if (descriptor < 0) return;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    MHD_add_connection(daemon, descriptor, (struct sockaddr *)&peer, count);
}

int main(void) {
    spaces = malloc(SIZE_MAX_BYTES);
    if (spaces == NULL) return 1;
    memset(spaces, ' ', SIZE_MAX_BYTES);
    unsigned short port;
    int listener = listen_on_loopback(&port);
    if (listener < 0) return 1;
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer, NULL,
        MHD_OPTION_THREAD_POOL_SIZE, 2u, MHD_OPTION_END);
    if (daemon == NULL) return 1;
    printf("%d\n", (int)port);
    fflush(stdout);
    struct pollfd watched[] = {
        {.fd = listener, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    while (poll(watched, 2, -1) > 0) {
        if (watched[0].revents & POLLIN) accept_one(daemon, listener);
        if (watched[1].revents != 0 && getchar() == EOF) break;
    }
    MHD_stop_daemon(daemon);
    close(listener);
    free(spaces);
    return 0;
}
