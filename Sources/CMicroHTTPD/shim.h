#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// Swift can't call functions with variable arguments: what they take goes into an array of options.
static inline struct MHD_Daemon *backstitch_start_daemon(
    unsigned int flags, MHD_AcceptPolicyCallback policy, MHD_AccessHandlerCallback handler,
    void *context, struct MHD_OptionItem *options) {
    return MHD_start_daemon(
        flags, 0, policy, context, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static inline int backstitch_connection_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline const struct sockaddr *backstitch_connection_address(
    struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

static inline unsigned int backstitch_connection_count(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info == NULL ? 0 : info->num_connections;
}

// Sockets that are looked at before the library has them. Swift's module of the C library lacks epoll.

static inline int backstitch_queue(void) { return epoll_create1(EPOLL_CLOEXEC); }

// By edges: bytes that are looked at and not read would wake the reader again and again.
static inline int backstitch_watch(int queue, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = descriptor};
    return epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event);
}

static inline int backstitch_unwatch(int queue, int descriptor) {
    struct epoll_event event = {.events = 0};
    return epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, &event);
}

#define BACKSTITCH_EVENTS_MAX 256

// The descriptors with news; of those whose client sends nothing more, ended is 1.
static inline int backstitch_wait(int queue, int *descriptors, int *ended, int milliseconds) {
    struct epoll_event events[BACKSTITCH_EVENTS_MAX];
    int count = epoll_wait(queue, events, BACKSTITCH_EVENTS_MAX, milliseconds);
    for (int index = 0; index < count; index++) {
        descriptors[index] = events[index].data.fd;
        ended[index] = (events[index].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    }
    return count;
}

// The next connection, which does not block; -1 where there is none.
static inline int backstitch_accept(int socket, struct sockaddr_storage *address) {
    socklen_t count = sizeof *address;
    int descriptor = accept(socket, (struct sockaddr *)address, &count);
    if (descriptor < 0) return -1;
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 || fcntl(descriptor, F_SETFL, O_NONBLOCK) < 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}
