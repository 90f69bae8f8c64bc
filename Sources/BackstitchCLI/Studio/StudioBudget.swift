import Backstitch

/// How much a call looks at before it answers with what it has, so that a page never waits for all of a
/// large store.
struct StudioBudget {
    /// The most rows, entries or operations.
    static let looksMax = 20_000
    /// The longest time: rows may be large.
    private static let milliseconds: Int64 = 40
    /// The time is looked at each so many looks.
    private static let interval = 64
    /// The most bytes of an answer, but that one element is always in it.
    static let answerBytesMax = 4 << 20
    /// The most bytes of a value, unless it is asked for as a whole.
    static let valueBytesMax = 16 << 10

    private let clock = SystemClock()
    private let end: Int64

    init() { end = clock.milliseconds + Self.milliseconds }

    /// Whether there is something left after some looks.
    func goesOn(_ looks: Int) -> Bool {
        looks < Self.looksMax && (looks % Self.interval != 0 || clock.milliseconds < end)
    }
}

extension RecordValue {
    /// The bytes that it has in an answer, roughly.
    var answerBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let data): data.count / 3 * 4
        case .list(let elements): elements.reduce(0) { $0 + 8 + $1.answerBytes }
        case .unknown(let value): value.json.utf8.count
        default: 32
        }
    }

    /// The value, or words about it if it is too large for a page.
    var shown: RecordValue {
        let max = StudioBudget.valueBytesMax
        guard answerBytes > max else { return self }
        let size = "(\(answerBytes) bytes: the command 'export' has all)"
        switch self {
        case .string(let text):
            return .string(
                String(decoding: text.utf8.prefix(max), as: UTF8.self) + "… " + size)
        default: return .string("… " + size)
        }
    }
}

extension [String: RecordValue] {
    /// The values as a page shows them.
    var shown: [String: RecordValue] { mapValues(\.shown) }
    /// The bytes that they have in an answer, roughly.
    var answerBytes: Int { reduce(0) { $0 + $1.key.utf8.count + 8 + $1.value.answerBytes } }
}
