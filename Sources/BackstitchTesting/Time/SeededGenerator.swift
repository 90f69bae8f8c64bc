/// Random numbers that depend on a seed only (SplitMix64; Steele, Lea, Flood 2014).
///
/// The same seed gives the same numbers on every machine. Not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// A generator that starts at a seed; every seed is good, zero too.
    public init(seed: UInt64) {
        state = seed
    }

    /// The next 64 random bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// A number from 0 up to, not including, 1.
    public mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// A generator that depends on this one as it stands and on a number, and leaves it as it is: for
    /// choices that came later, so that what seeds chose before stays the same.
    package func aside(_ number: UInt64) -> SeededGenerator {
        SeededGenerator(seed: state ^ number)
    }

    /// A generator of its own, for a part of the work whose numbers should not depend on the rest.
    public mutating func split() -> SeededGenerator {
        SeededGenerator(seed: next())
    }
}
