import BackstitchHubCore
import LMDB
import Threading

/// The last requests that took long, for whoever looks at the folder of a hub.
final class SlowRequests: Sendable {
    /// What takes so long is noted, in nanoseconds.
    private static let nanosecondsMin = 250_000_000
    /// The most requests that are kept.
    private static let requestsMax = 100
    /// The file is written so often at most, in milliseconds.
    private static let pauseMilliseconds: Int64 = 1_000

    private struct State {
        var lines: [String] = []
        var isWritten = true
        var next: Int64 = 0
    }

    private let file: StatusFile
    private let state = Locked(State())

    init(folder: String) { file = Self.file(folder) }

    func isSlow(_ nanoseconds: Int) -> Bool { nanoseconds >= Self.nanosecondsMin }

    /// Notes a request, if it took long.
    func note(_ request: ServedRequest) {
        guard isSlow(request.nanoseconds) else { return }
        state.withLock { state in
            if state.lines.count == Self.requestsMax { state.lines.removeFirst() }
            state.lines.append(request.slowLine)
            state.isWritten = false
        }
    }

    /// Writes what was noted. Call it now and then.
    func tick(now: Int64) {
        let text = state.withLock { state -> String? in
            guard !state.isWritten, now >= state.next else { return nil }
            (state.isWritten, state.next) = (true, now + Self.pauseMilliseconds)
            return state.lines.joined(separator: "\n")
        }
        if let text { file.write(Array(text.utf8)) }
    }

    /// What a hub that serves a folder has noted: a JSON object for each request, oldest first.
    static func lines(of folder: String) -> [String] {
        let text = file(folder).read().map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// Another number whenever something was noted.
    static func version(of folder: String) -> UInt64 { file(folder).version }

    private static func file(_ folder: String) -> StatusFile {
        StatusFile(folder + "/requests.status")
    }
}
