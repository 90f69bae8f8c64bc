import Glibc
import Threading

/// Buffered writing to a descriptor. It notices when the reader goes away.
package final class Output: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        var isClosed = false
        var failure: String?
    }

    /// The buffer is written when it has this many bytes.
    static let bufferBytes = 1 << 16

    package let descriptor: Int32
    private let state = Locked(State())

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Whether the reader went away or writing failed; what is written from then on is dropped.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Why writing failed; nil if it did not, or if only the reader went away.
    package var failure: String? { state.withLock { $0.failure } }

    /// Writes text and ends the line.
    package func line(_ text: String = "") {
        write(text + "\n")
    }

    /// Writes text.
    package func write(_ text: String) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.buffer.append(contentsOf: text.utf8)
            if state.buffer.count >= Self.bufferBytes { flush(&state) }
        }
    }

    /// Writes what is in the buffer.
    package func flush() {
        state.withLock { flush(&$0) }
    }

    private func flush(_ state: inout State) {
        defer { state.buffer.removeAll(keepingCapacity: true) }
        var written = 0
        while written < state.buffer.count, !state.isClosed {
            let count = unsafe state.buffer.withUnsafeBytes { bytes in
                let rest = unsafe bytes[written...]
                return unsafe Glibc.write(descriptor, rest.baseAddress(in: bytes), rest.count)
            }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                unsafe poll(&waiting, 1, -1)
            } else if errno != EINTR {
                if errno != EPIPE { state.failure = unsafe String(cString: strerror(errno)) }
                state.isClosed = true
            }
        }
    }

    /// Whether the other end of a pipe is closed, without writing anything.
    package var hasNoReader: Bool {
        var status = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&status, 1, 0) > 0 && status.revents & Int16(POLLERR) != 0
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// The address of the first byte of the slice.
    fileprivate func baseAddress(in bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        unsafe bytes.baseAddress.map { unsafe $0 + startIndex }
    }
}
