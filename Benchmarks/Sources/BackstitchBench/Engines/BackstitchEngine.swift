import Backstitch
import BackstitchTesting
import BenchmarkKit
import Foundation
import PeerInterface

/// Backstitch through its public interface.
final class BackstitchEngine: Engine {
    private let store: Store
    /// The same store, of which a read takes two threads.
    private let storeOnTwo: Store
    private let set: ContactSet

    init(_ directory: String, _ set: ContactSet) throws {
        func open(threads: Int) throws -> Store {
            var configuration = StoreConfiguration()
            configuration.readThreadsMax = threads
            return try Store(
                at: URL(filePath: directory), schema: StoreSchema(Department.self, Contact.self),
                configuration: configuration)
        }
        store = try open(threads: 1)
        storeOnTwo = try open(threads: 2)
        self.set = set
    }

    // MARK: Writing

    func insert(_ numbers: Range<Int>) throws {
        let contacts = set.contacts
        try store.write { tx in
            for number in numbers { try tx.save(contacts[number]) }
        }
    }

    func saveEach(_ numbers: Range<Int>) throws {
        let contacts = set.contacts
        for number in numbers {
            try store.write { tx in _ = try tx.save(contacts[number]) }
        }
    }

    func saveConcurrently(_ numbers: Range<Int>, writers: Int) async throws -> Int64 {
        let contacts = set.contacts
        let store = store
        let start = peer_nanoseconds()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for number in stride(
                        from: numbers.lowerBound + writer, to: numbers.upperBound, by: writers)
                    {
                        try await store.write { tx in _ = try tx.save(contacts[number]) }
                    }
                }
            }
            try await group.waitForAll()
        }
        return peer_nanoseconds() - start
    }

    func update(_ positions: Range<Int>) throws { try update(positions, adding: 0) }

    /// As ``update(_:)``, with so much more in each balance.
    func update(_ positions: Range<Int>, adding amount: Double) throws {
        let (contacts, data) = (set.contacts, set.data)
        try store.write { tx in
            for position in positions {
                let id = contacts[data.updateOrder[position]].id
                guard var contact = try tx.find(Contact.self, id) else { throw Self.missing }
                contact.balance = data.updates[position].balance + amount
                try tx.save(contact)
            }
        }
    }

    func delete(_ positions: Range<Int>) throws {
        let (contacts, data) = (set.contacts, set.data)
        try store.write { tx in
            for position in positions {
                guard try tx.delete(contacts[data.updateOrder[position]].id) else {
                    throw Self.missing
                }
            }
        }
    }

    private static let missing = EngineFailure(description: "a contact is not there")

    // MARK: Reading

    func get(_ numbers: [Int], inOneSnapshot: Bool) throws -> UInt64 {
        let contacts = set.contacts
        var sum: UInt64 = 0
        guard inOneSnapshot else {
            for number in numbers {
                let found = try store.read { try $0.find(Contact.self, contacts[number].id) }
                guard let found else { throw Self.missing }
                sum &+= found.touch
            }
            return sum
        }
        return try store.read { tx in
            for number in numbers {
                guard let found = try tx.find(Contact.self, contacts[number].id) else {
                    throw Self.missing
                }
                sum &+= found.touch
            }
            return sum
        }
    }

    func ask(_ kind: Questions.Kind, _ questions: Questions) throws -> UInt64 {
        let isOnTwo = kind == .scanOnTwo || kind == .sortOnTwo
        return try (isOnTwo ? storeOnTwo : store).read { tx in
            var sum: UInt64 = 0
            for index in 0..<questions.count(kind) {
                let found = try ask(kind, index, questions, tx)
                if Questions.isOrdered(kind) {
                    sum &+= found.reduce(0) { Questions.inOrder($0, $1.touch) }
                } else {
                    for contact in found { sum &+= contact.touch }
                }
            }
            return sum
        }
    }

    private func ask(
        _ kind: Questions.Kind, _ index: Int, _ questions: Questions,
        _ tx: borrowing ReadTransaction
    ) throws -> [Contact] {
        switch kind {
        case .equality:
            let email = set.contacts[questions.emails[index]].email
            return try tx.fetch(Query<Contact>().where(#Predicate { $0.email == email }))
        case .equalityTyped:
            let email = set.contacts[questions.emails[index]].email
            return try tx.fetch(Query<Contact>().where(\.email, is: email))
        case .range:
            let low = questions.ages[index]
            let high = low + Int64(Questions.rowsWanted)
            return try tx.fetch(
                Query<Contact>().where(#Predicate { $0.age >= low && $0.age < high }))
        case .scan, .scanOnTwo:
            let low = questions.balances[index]
            return try tx.fetch(Query<Contact>().where(#Predicate { $0.balance >= low }))
        case .sort, .sortOnTwo:
            return try tx.fetch(
                Query<Contact>().sorted(by: \.lastName).limit(Questions.sortLimit))
        case .toMany:
            let id = Department.ID(bytes: questions.departments[index])
            return try tx.fetch(Department(id: id, name: "").contacts)
        }
    }

    // MARK: Everything

    func fold(into json: inout peer_buffer) throws -> Int {
        try store.exportOutbox { part in
            guard peer_buffer_reserve(&json, part.count) == 0 else {
                throw EngineFailure(description: "out of memory")
            }
            part.withUnsafeBytes { bytes in
                guard let first = bytes.baseAddress else { return }
                memcpy(json.bytes + json.count, first, part.count)
            }
            json.count += part.count
        }
    }

    func compact() async throws -> Bool {
        try await push()
        return try await compactPushed()
    }

    /// Lets a service take all changes.
    func push() async throws {
        let engine = SyncEngine(
            store: store, service: SimulatedCloud().connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Contacts", syncOnSave: false))
        _ = try await engine.sync()
        guard try store.info().outbox.pendingRecords == 0 else {
            throw EngineFailure(description: "a contact was not pushed")
        }
    }

    /// Forgets the changes that a service took, and makes the files small.
    func compactPushed() async throws -> Bool {
        try await store.compact(.keepUnsyncedOnly).isComplete
    }

    func census() throws -> Census {
        var census = Census()
        for contact in try store.read({ try $0.fetch(Contact.self) }) {
            census.rows += 1
            census.digest &+= try contact.digest
        }
        census.changes = Int(try store.info().operations)
        return census
    }

    /// The journal is applied when there was no commit for half a second, once or twice.
    func settle() { Thread.sleep(forTimeInterval: 1.5) }

    func close() {
        storeOnTwo.close()
        store.close()
    }
}
