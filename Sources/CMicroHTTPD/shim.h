#include <microhttpd.h>

// Swift can't call functions with variable arguments: what they take goes into an array of options.
static inline struct MHD_Daemon *backstitch_start_daemon(
    unsigned int flags, MHD_AccessHandlerCallback handler, void *context,
    struct MHD_OptionItem *options) {
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
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
