#include <stdlib.h>

#include "peer_codec.h"

static void sift_down(peer_candidate *heap, size_t count, size_t index) {
    for (;;) {
        size_t last = index;
        for (size_t child = 2 * index + 1; child <= 2 * index + 2 && child < count; child++)
            if (peer_precedes(&heap[last], &heap[child])) last = child;
        if (last == index) return;
        peer_candidate moved = heap[index];
        heap[index] = heap[last];
        heap[last] = moved;
        index = last;
    }
}

bool peer_heap_offer(peer_candidate *heap, size_t *count, size_t limit,
                     peer_candidate candidate) {
    if (*count < limit) {
        heap[(*count)++] = candidate;
        if (*count == limit)
            for (size_t index = limit; index-- > 0;) sift_down(heap, limit, index);
        return true;
    }
    if (limit == 0 || !peer_precedes(&candidate, &heap[0])) return false;
    heap[0] = candidate;
    sift_down(heap, limit, 0);
    return true;
}

static int compare(const void *left, const void *right) {
    return peer_precedes(left, right) ? -1 : 1;
}

void peer_heap_sort(peer_candidate *heap, size_t count) {
    qsort(heap, count, sizeof *heap, compare);
}
