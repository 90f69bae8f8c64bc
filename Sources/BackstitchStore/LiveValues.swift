public import BackstitchCore
import Foundation

/// The live values of this process: the only file that reads the clock and the random source.
private final class LiveValues: Sendable {
    static let shared = LiveValues()

    /// How many random numbers are drawn at once, because a draw is a call of the kernel.
    private static let drawCount = 64
    /// The most bytes that one call of `getentropy` fills.
    private static let entropyBytesMax = 256

    private let lock = NSLock()
    // Invariant: what follows is touched with the lock held only.
    nonisolated(unsafe) private var generator = UUIDv7Generator()
    nonisolated(unsafe) private var draws = [UInt64](repeating: 0, count: drawCount)
    nonisolated(unsafe) private var drawsLeft = 0

    /// A UUID that sorts behind those that this process made before.
    func nextID() -> UUID {
        lock.lock()
        defer { lock.unlock() }
        if drawsLeft == 0 { refill() }
        drawsLeft -= 1
        return generator.next(milliseconds: Self.milliseconds, random: draws[drawsLeft])
    }

    /// Draws new random numbers; the system's generator would call the kernel for each.
    private func refill() {
        drawsLeft = Self.drawCount
        let isFilled = draws.withUnsafeMutableBytes { bytes in
            stride(from: 0, to: bytes.count, by: Self.entropyBytesMax).allSatisfy { start in
                let end = min(start + Self.entropyBytesMax, bytes.count)
                let part = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
                return getentropy(part.baseAddress, part.count) == 0
            }
        }
        if isFilled { return }
        var source = SystemRandomNumberGenerator()
        for index in draws.indices { draws[index] = source.next() }
    }

    /// Milliseconds since 1970; a clock that stands before then reads as 0.
    private static var milliseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(max(0, time.tv_sec)) * 1000 + UInt64(time.tv_nsec) / 1_000_000
    }
}

extension EntityID {
    /// A new id, a UUID of version 7: later ones sort behind earlier ones of the same process.
    public init() {
        self.init(key: RecordKey(.uuid(LiveValues.shared.nextID())))
    }
}
