import BackstitchTesting

/// Seeds from the whole range of 64 bits that follow from a first number: so that one number is
/// enough to run all of them again.
public struct FreshSeeds: Sequence, Hashable, Sendable {
    /// The number that the seeds follow from.
    public let start: UInt64
    /// How many seeds there are.
    public let count: Int

    /// Seeds that follow from a number.
    public init(from start: UInt64, count: Int) {
        self.start = start
        self.count = Swift.max(0, count)
    }

    /// The seeds in their order, which may hold one twice.
    public func makeIterator() -> AnyIterator<UInt64> {
        var generator = SeededGenerator(seed: start)
        var left = count
        return AnyIterator {
            guard left > 0 else { return nil }
            left -= 1
            return generator.next()
        }
    }
}
