public import BackstitchCore
package import Foundation
import LMDB
import Threading

/// The live values of this process: the only file that reads the clock and the random source.
package enum LiveValues {
    private struct Source {
        var generator = UUIDv7Generator()
        var draws = [UInt64](repeating: 0, count: LiveValues.drawCount)
        var drawsLeft = 0

        mutating func nextRandom() -> UInt64 {
            if drawsLeft == 0 {
                LiveValues.fill(&draws)
                drawsLeft = draws.count
            }
            drawsLeft -= 1
            return draws[drawsLeft]
        }
    }

    /// How many random numbers are drawn at once, because a draw is a call of the kernel.
    private static let drawCount = 64
    /// The most bytes that one call of `getentropy` fills.
    private static let entropyBytesMax = 256
    private static let source = Locked(Source())

    /// The wall clock, in milliseconds since 1970.
    package static func milliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// A random number from 0 up to 1.
    package static func random() -> Double { Double.random(in: 0..<1) }

    /// Waits; ends at once if the task is cancelled.
    package static func pause(milliseconds: Int64) async {
        try? await Task.sleep(for: .milliseconds(milliseconds))
    }

    /// A UUID that sorts behind those that this process made before.
    package static func nextID() -> UUID {
        let now = UInt64(max(0, milliseconds()))
        return source.withLock { source in
            let random = source.nextRandom()
            return source.generator.next(milliseconds: now, random: random)
        }
    }

    /// Draws random numbers; the system's generator would call the kernel for each.
    private static func fill(_ draws: inout [UInt64]) {
        let isFilled = unsafe draws.withUnsafeMutableBytes { bytes in
            stride(from: 0, to: bytes.count, by: entropyBytesMax).allSatisfy { start in
                let end = min(start + entropyBytesMax, bytes.count)
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
                return unsafe getentropy(part.baseAddress, part.count) == 0
            }
        }
        if isFilled { return }
        var source = SystemRandomNumberGenerator()
        for index in draws.indices { draws[index] = source.next() }
    }
}

extension EntityID {
    /// A new id, a UUID of version 7: later ids of a process sort after its earlier ones.
    public init() {
        self.init(in: .own)
    }

    /// A new id of a record in a zone, a UUID of version 7.
    ///
    /// - Parameter zone: A zone of the store that the record is saved in.
    public init(in zone: RecordID.Zone) {
        self.init(key: RecordKey(.uuid(LiveValues.nextID()), zone: zone.slot))
    }
}
