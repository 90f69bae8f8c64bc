/// 16 bytes of an id.
public typealias IDBytes = (
    UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8,
    UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
)

/// What one contact holds, as generated.
public struct Person: Sendable {
    /// A UUID of version 7; ascends with the number of the contact.
    public let id: IDBytes
    /// 4 to 12 bytes.
    public let firstName: String
    /// 4 to 16 bytes.
    public let lastName: String
    /// No two contacts have the same.
    public let email: String
    /// Evenly spread over as many values as there are records.
    public let age: Int64
    /// 0 to 10,000, two decimals.
    public let balance: Double
    /// Whether the contact is active.
    public let isActive: Bool
    /// Milliseconds since 1970.
    public let createdMilliseconds: Int64
    /// About 100 bytes.
    public let notes: String
    /// One of ``Dataset/departments``.
    public let department: IDBytes

    static let balanceMax = 10_000.0
    private static let epochMilliseconds: UInt64 = 1_780_000_000_000

    init(number: Int, ages: Int, departments: [IDBytes], _ random: inout SplitMix) {
        id = Self.identity(number, random.next())
        firstName = Words.name(syllables: 2 + Int(random.next() % 2), &random)
        lastName = Words.name(syllables: 2 + Int(random.next() % 3), &random)
        email = "\(firstName).\(lastName).\(number)@example.org".lowercased()
        age = Int64(random.next() % UInt64(ages))
        balance = Double(random.next() % UInt64(Self.balanceMax * 100)) / 100
        isActive = random.next() % 2 == 0
        createdMilliseconds = Int64(Self.epochMilliseconds - random.next() % 100_000_000_000)
        notes = Words.text(bytes: 96, &random)
        department = departments[Int(random.next() % UInt64(departments.count))]
    }

    /// A UUID of version 7 as if 16 were made in each millisecond.
    public static func identity(_ number: Int, _ random: UInt64) -> IDBytes {
        let milliseconds = epochMilliseconds + UInt64(number / 16)
        let high = (milliseconds << 16) | 0x7000 | UInt64(number % 16)
        let low = random & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return unsafeBitCast((high.bigEndian, low.bigEndian), to: IDBytes.self)
    }
}
