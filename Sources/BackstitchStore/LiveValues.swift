public import BackstitchCore
import Foundation

/// The live values of this process: the only file that reads the clock and the random source.
private enum LiveValues {
    /// How many random numbers are drawn at once, because one draw is a call of the kernel.
    static let drawCount = 64

    private static let lock = NSLock()
    // Both are touched with the lock held only.
    nonisolated(unsafe) private static var generator = UUIDv7Generator()
    nonisolated(unsafe) private static var draws: [UInt64] = []

    /// A UUID that sorts behind those that this process made before.
    static func nextID() -> UUID {
        lock.withLock {
            if draws.isEmpty { refill() }
            return generator.next(milliseconds: milliseconds, random: draws.removeLast())
        }
    }

    private static func refill() {
        var source = SystemRandomNumberGenerator()
        for _ in 0..<drawCount { draws.append(source.next()) }
    }

    private static var milliseconds: UInt64 {
        UInt64(max(0, Date().timeIntervalSince1970 * 1000))
    }
}

extension EntityID {
    /// A new id, a UUID of version 7: later ones sort behind earlier ones of the same process.
    public init() {
        self.init(key: RecordKey(.uuid(LiveValues.nextID())))
    }
}
