public import PeerInterface

/// The contacts that all engines store, what is done to them, and what has to come of it.
///
/// Everything is made ahead, so that no engine's time contains it.
public final class Dataset: @unchecked Sendable {
    /// The number of contacts that are inserted in bulk; those behind them are saved one by one.
    public let records: Int
    /// The number of single saves of each kind.
    public let saves: Int
    /// The contacts as Swift values.
    public let people: [Person]
    /// The same as C values. They live as long as this does.
    public let contacts: UnsafeMutableBufferPointer<peer_contact>
    /// The departments that contacts refer to.
    public let departments: [IDBytes]
    /// The contacts of the first ``records`` in the order in which they are updated.
    public let updateOrder: [Int]
    /// The new balances in that order.
    public let updates: UnsafeMutableBufferPointer<peer_update>
    /// Every contact's digest before and after the update.
    public let digests: [UInt64]
    /// See ``digests``.
    public let updatedDigests: [UInt64]
    /// What ``peer_touch`` adds for each contact.
    public let touches: [UInt64]
    private let arena: UnsafeMutablePointer<CChar>

    /// The kinds of single saves: from one writer, from 8 and from 64.
    public static let saveKinds = 3

    /// Makes `records` contacts for the bulk and `saves` for each kind of single saves.
    public init(records: Int, saves: Int, seed: UInt64) {
        self.records = records
        self.saves = saves
        var random = SplitMix(seed: seed)
        let departments = (0..<max(1, records / 100)).map { number in
            Person.identity(number, random.next())
        }
        self.departments = departments
        let count = records + Self.saveKinds * saves
        people = (0..<count).map { number in
            Person(number: number, ages: max(records, 1), departments: departments, &random)
        }
        (contacts, arena) = Self.cContacts(people)
        updateOrder = Array(0..<records).shuffled(using: &random)
        updates = .allocate(capacity: records)
        for (position, number) in updateOrder.enumerated() {
            let balance = Double(random.next() % 1_000_000) / 100 + Person.balanceMax
            updates[position] = peer_update(id: people[number].id, balance: balance)
        }
        let filled = (0..<count).map { [contacts] in Self.row(contacts[$0]) }
        digests = filled.map { row in
            withUnsafePointer(to: row) { peer_digest($0) }
        }
        touches = filled.map { row in
            withUnsafePointer(to: row) { peer_touch(0, $0, 1) }
        }
        var changed = digests
        for (position, number) in updateOrder.enumerated() {
            var row = filled[number]
            row.balance = updates[position].balance
            changed[number] = peer_digest(&row)
        }
        updatedDigests = changed
    }

    deinit {
        contacts.deallocate()
        updates.deallocate()
        arena.deallocate()
    }

    /// A contact as a read of it has to return it.
    static func row(_ contact: peer_contact) -> peer_row {
        var row = peer_row()
        let status = withUnsafePointer(to: contact) { peer_row_fill(&row, $0) }
        precondition(status == 0, "A generated contact fits a row.")
        return row
    }

    private static func cContacts(
        _ people: [Person]
    ) -> (UnsafeMutableBufferPointer<peer_contact>, UnsafeMutablePointer<CChar>) {
        let byteCount = people.reduce(0) { sum, person in
            sum + person.firstName.utf8.count + person.lastName.utf8.count
                + person.email.utf8.count + person.notes.utf8.count
        }
        let arena = UnsafeMutablePointer<CChar>.allocate(capacity: max(byteCount, 1))
        var used = 0
        func text(_ string: String) -> peer_text {
            let start = arena + used
            for byte in string.utf8 {
                arena[used] = CChar(bitPattern: byte)
                used += 1
            }
            return peer_text(bytes: start, count: UInt32(string.utf8.count))
        }
        let contacts = UnsafeMutableBufferPointer<peer_contact>.allocate(capacity: people.count)
        for (number, person) in people.enumerated() {
            contacts[number] = peer_contact(
                id: person.id, department: person.department, first_name: text(person.firstName),
                last_name: text(person.lastName), email: text(person.email),
                notes: text(person.notes), age: person.age, balance: person.balance,
                created_at: person.createdMilliseconds, active: person.isActive)
        }
        return (contacts, arena)
    }
}
