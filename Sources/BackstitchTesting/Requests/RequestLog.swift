import BackstitchCore

/// What was asked of a server.
struct RequestLog: Sendable {
    var counts: [RequestKind: Int] = [:]
    var entries: [RequestInfo] = []

    mutating func append(_ info: RequestInfo, max: Int) {
        counts[info.kind, default: 0] += 1
        guard max > 0 else { return }
        entries.append(info)
        if entries.count > 2 * max { entries.removeFirst(entries.count - max) }
    }
}
