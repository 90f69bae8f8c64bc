import BackstitchHubCore
import CMicroHTTPD
import Glibc
import Threading

/// A reply whose body is fetched piece by piece while it is sent.
///
/// libmicrohttpd asks for bytes on its own threads, which must not wait. Where a piece is not here yet the
/// connection is suspended, and goes on when the piece has come. There are two pieces in memory at most: what
/// is being sent, and the next one.
final class FileStream: @unchecked Sendable {
    // Unchecked because of the connection's pointer. The lock guards the state; the connection is a name that is suspended and resumed once each in turn.
    private struct State {
        /// The piece at an offset, of which bytes are sent.
        var piece: (offset: Int, bytes: [UInt8])
        /// The piece behind it.
        var next: [UInt8]?
        var isFetching = false
        var isWaiting = false
        var hasFailed = false
    }

    private let file: RemoteFile
    private let connection: OpaquePointer
    private let streams: FileStreams
    private let state: Locked<State>

    fileprivate init(_ file: RemoteFile, _ connection: OpaquePointer, _ streams: FileStreams) {
        (self.file, self.connection, self.streams) = (file, connection, streams)
        state = Locked(State(piece: (0, file.start)))
    }

    /// The reply of a stream; nil if there is no memory.
    static func reply(
        _ file: RemoteFile, on connection: OpaquePointer, _ streams: FileStreams
    ) -> OpaquePointer? {
        let stream = FileStream(file, connection, streams)
        guard streams.add(stream) else { return nil }
        let kept = Unmanaged.passRetained(stream)
        let reply = MHD_create_response_from_callback(
            UInt64(file.byteCount), 64 << 10,
            { context, position, buffer, room in
                guard let context, let buffer else { return -2 }
                return Unmanaged<FileStream>.fromOpaque(context).takeUnretainedValue()
                    .take(UnsafeMutableRawBufferPointer(start: buffer, count: room), Int(position))
            }, kept.toOpaque(),
            { context in
                guard let context else { return }
                let stream = Unmanaged<FileStream>.fromOpaque(context).takeRetainedValue()
                stream.streams.remove(stream)
            })
        if reply == nil {
            streams.remove(stream)
            kept.release()
        }
        return reply
    }

    /// What libmicrohttpd is told: the body is cut.
    private static let failure = -2

    /// Gives bytes from a position on.
    ///
    /// - Returns: How many; 0 if the connection was suspended.
    private func take(_ buffer: UnsafeMutableRawBufferPointer, _ position: Int) -> Int {
        let (count, fetched) = state.withLock { state in
            guard !state.hasFailed else { return (Self.failure, Int?.none) }
            let end = state.piece.offset + state.piece.bytes.count
            if position == end, let next = state.next {
                state.piece = (end, next)
                state.next = nil
            }
            let place = position - state.piece.offset
            guard place >= 0, place <= state.piece.bytes.count else { return (Self.failure, nil) }
            let fetched = nextToFetch(&state)
            let count = min(buffer.count, state.piece.bytes.count - place)
            if count > 0 {
                state.piece.bytes.withUnsafeBytes {
                    let part = UnsafeRawBufferPointer(rebasing: $0[place..<place + count])
                    buffer.copyMemory(from: part)
                }
            } else {
                state.isWaiting = true
                MHD_suspend_connection(connection)
            }
            return (count, fetched)
        }
        // Outside of the lock: a pool that is full answers at once.
        if let fetched { file.submitPiece(at: fetched) { [self] in goOn(with: $0) } }
        return count
    }

    /// Where the piece behind the current one begins, if it has to be fetched: it is not here and does not come.
    private func nextToFetch(_ state: inout State) -> Int? {
        let end = state.piece.offset + state.piece.bytes.count
        guard end < file.byteCount, state.next == nil, !state.isFetching else { return nil }
        state.isFetching = true
        return end
    }

    private func goOn(with piece: [UInt8]?) {
        let wasWaiting = state.withLock { state in
            state.isFetching = false
            if let piece, !piece.isEmpty { state.next = piece } else { state.hasFailed = true }
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wasWaiting { MHD_resume_connection(connection) }
    }

    /// Cuts the body.
    fileprivate func fail() { goOn(with: nil) }
}

/// The streams of a server, which have to end before it does.
final class FileStreams: Sendable {
    private struct State {
        var streams: [ObjectIdentifier: FileStream] = [:]
        var isEnding = false
    }

    private let state = Locked(State())

    /// Notes a stream; false if the server ends.
    func add(_ stream: FileStream) -> Bool {
        state.withLock { state in
            guard !state.isEnding else { return false }
            state.streams[ObjectIdentifier(stream)] = stream
            return true
        }
    }

    func remove(_ stream: FileStream) {
        state.withLock { $0.streams[ObjectIdentifier(stream)] = nil }
    }

    /// Cuts all streams, so that no connection stays suspended.
    func failAll() {
        let streams = state.withLock { state in
            state.isEnding = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.fail() }
    }
}
