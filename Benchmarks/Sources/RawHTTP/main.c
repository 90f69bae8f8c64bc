// The HTTP library of the hub with nothing behind it: takes a body, and answers one of the size that
// the path says, all of it spaces. `raw-http` prints its port and runs until its input ends.

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

int main(void) {
    spaces = malloc(SIZE_MAX_BYTES);
    if (spaces == NULL) return 1;
    memset(spaces, ' ', SIZE_MAX_BYTES);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_THREAD_POOL_SIZE, 2u, MHD_OPTION_END);
    if (daemon == NULL) return 1;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info == NULL) return 1;
    printf("%d\n", (int)info->port);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    MHD_stop_daemon(daemon);
    free(spaces);
    return 0;
}
