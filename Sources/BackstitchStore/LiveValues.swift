public import BackstitchCore
import Foundation
import LMDB

/// The live values of this process: the only file that reads the clock and the random source.
public enum LiveValues {
    private struct Source {
        var generator = UUIDv7Generator()
        var draws: [UInt64] = []
    }

    /// How many random numbers are drawn at once, because one draw is a call of the kernel.
    private static let drawCount = 64
    private static let source = Locked(Source())

    /// The wall clock, in milliseconds since 1970.
    public static func milliseconds() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1000)
    }

    /// A UUID that sorts behind those that this process made before.
    static func nextID() -> UUID {
        let now = UInt64(max(0, milliseconds()))
        return source.withLock { source in
            if source.draws.isEmpty {
                var random = SystemRandomNumberGenerator()
                for _ in 0..<drawCount { source.draws.append(random.next()) }
            }
            return source.generator.next(milliseconds: now, random: source.draws.removeLast())
        }
    }
}

extension EntityID {
    /// A new id, a UUID of version 7: later ones sort behind earlier ones of the same process.
    public init() {
        self.init(key: RecordKey(.uuid(LiveValues.nextID())))
    }
}
