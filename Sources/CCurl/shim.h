#include <curl/curl.h>

// Swift can't call functions with variable arguments: each kind of option has a function of its own.
static inline CURLcode backstitch_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode backstitch_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode backstitch_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode backstitch_set_list(
    CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*backstitch_data_function)(
    char *data, size_t size, size_t count, void *context);

static inline CURLcode backstitch_set_function(
    CURL *handle, CURLoption option, backstitch_data_function value) {
    return curl_easy_setopt(handle, option, value);
}

// What is called now and then while a request is under way; another number than 0 ends it.
typedef int (*backstitch_progress_function)(
    void *context, curl_off_t download, curl_off_t downloaded, curl_off_t upload, curl_off_t uploaded);

static inline CURLcode backstitch_set_progress(CURL *handle, backstitch_progress_function value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

typedef int (*backstitch_seek_function)(void *context, curl_off_t offset, int origin);

static inline CURLcode backstitch_set_seek(CURL *handle, backstitch_seek_function value) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

// An offset may have more bits than a long.
static inline CURLcode backstitch_set_offset(CURL *handle, CURLoption option, long long value) {
    return curl_easy_setopt(handle, option, (curl_off_t)value);
}

static inline long long backstitch_uploaded_bytes(CURL *handle) {
    curl_off_t bytes = 0;
    curl_easy_getinfo(handle, CURLINFO_SIZE_UPLOAD_T, &bytes);
    return bytes;
}

static inline long backstitch_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static inline long long backstitch_elapsed_microseconds(CURL *handle) {
    curl_off_t elapsed = 0;
    curl_easy_getinfo(handle, CURLINFO_TOTAL_TIME_T, &elapsed);
    return elapsed;
}

static inline void *backstitch_context(CURL *handle) {
    char *context = NULL;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &context);
    return context;
}

// What ended, and how; the handle is NULL where nothing more did.
static inline CURL *backstitch_next_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}
