/// The numbers that a journal takes at random.
enum JournalChance {
    /// Any number but 0.
    static func number() -> UInt64 { .random(in: 1 ... .max) }
}
