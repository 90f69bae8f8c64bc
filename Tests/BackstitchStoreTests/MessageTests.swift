import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Entity("Plate") private struct Plate {
    var id = ID()
    @Attribute(.unique) var number: Int
    var label: String
    var shout: String { label.uppercased() }
}

/// What messages say: names of the public interface, and what to do.
@Suite(.budgeted) struct MessageTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: StoreSchema(Plate.self)) }

    private func message(_ body: () throws -> Void) -> String {
        failure(body)?.description ?? "nothing"
    }

    @Test func `a value that is taken names the record that has it`() throws {
        try store.write { _ = try $0.save(Plate(id: "first", number: 1, label: "a")) }
        let text = message {
            try store.write { _ = try $0.save(Plate(id: "second", number: 1, label: "b")) }
        }
        #expect(text.contains("notUnique") && text.contains("record first has the same value"))
    }

    @Test func `a record that exists is told without an article`() throws {
        let badge = Plate(id: "one", number: 1, label: "a")
        try store.write { _ = try $0.insert(badge) }
        let text = message { try store.write { _ = try $0.insert(badge) } }
        #expect(text.contains("The Plate record one exists already."), "\(text)")
    }

    @Test func `a read inside a write is refused, as its mirror image is`() throws {
        let store = store
        let text = message {
            try store.write { _ in _ = try store.read { try $0.fetch(Plate.self) } }
        }
        #expect(text.contains("nestedWrite") && text.contains("Use the transaction you have"))
    }

    @Test func `a closed store says that it is a store`() throws {
        store.close()
        #expect(
            message { _ = try store.read { try $0.fetch(Plate.self) } }
                == "closed: The store is closed. Open it again.")
    }

    @Test func `a store at its largest size names the option that raises it`() async throws {
        let folder = try TemporaryFolder()
        let small = try Store(
            at: folder.store, schema: StoreSchema(Plate.self),
            configuration: StoreConfiguration(durability: .relaxed, bytesMax: 1 << 20))
        defer { small.close() }
        let label = String(repeating: "x", count: 100_000)
        let text = message {
            for number in 0..<40 {
                try small.write { _ = try $0.save(Plate(number: number, label: label)) }
            }
        }
        #expect(
            text.contains("full") && text.contains("Raise StoreConfiguration.bytesMax"), "\(text)")
    }

    @Test func `a sum of decimals with too many digits says what to do, and it helps`() throws {
        let store = try Store.inMemory(schema: .all)
        func sum() throws -> Decimal {
            try store.read { try $0.aggregate(Query<Everything>(), .sum(\.decimal)) }
        }
        func save(_ third: Decimal) throws {
            try store.write { transaction in
                try transaction.save(Everything(id: "price", decimal: 12.5))
                try transaction.save(Everything(id: "third", decimal: third))
            }
        }
        try save(Decimal(1) / 3)
        let text = message { _ = try sum() }
        #expect(text.contains("round values before they are saved"), "\(text)")
        try save(Decimal(33) / 100)
        #expect(try sum() == Decimal(1_283) / 100)
    }

    @Test func `what a query can't evaluate is named, and no tree is shown`() throws {
        let text = message {
            _ = try store.read {
                try $0.fetch(Query<Plate>().where(#Predicate { $0.label.description == "a" }))
            }
        }
        #expect(text.contains("can't evaluate"), "\(text)")
        #expect(!text.contains("PredicateExpressions.Value<") && !text.contains(": Value"))
        let computed = message {
            _ = try store.read { try $0.fetch(Query<Plate>().sorted(by: \.shout)) }
        }
        #expect(!computed.contains("<computed"), "\(computed)")
    }

    @Test func `an expression that a query can't evaluate is named as it was written`() throws {
        let (names, numbers) = (["a", "b"], [1, 2])
        let predicates: [(String, Predicate<Plate>)] = [
            ("[index]", #Predicate { names[$0.number] == "a" }),
            ("max()", #Predicate { (numbers.max() ?? 0) == $0.number }),
            ("min()", #Predicate { (numbers.min() ?? 0) == $0.number }),
        ]
        for (name, predicate) in predicates {
            let text = message {
                _ = try store.read { try $0.fetch(Query<Plate>().where(predicate)) }
            }
            #expect(text.contains("can't evaluate \(name). "), "\(text)")
        }
    }

    @Test func `a property of a reference leads to the record at its other end`() throws {
        let store = try Store.inMemory(schema: .all)
        let optional = message {
            _ = try store.read {
                try $0.fetch(Query<Employee>().where(#Predicate { $0.department?.name == "Sales" }))
            }
        }
        #expect(optional.contains("'department' of Employee"), "\(optional)")
        #expect(optional.contains("where(\\.department, fulfils:"), "\(optional)")
        let required = message {
            _ = try store.read {
                try $0.fetch(Query<Badge>().where(#Predicate { $0.employee.name == "Ada" }))
            }
        }
        #expect(required.contains("where(\\.employee, fulfils:"), "\(required)")
        let own = message {
            _ = try store.read {
                try $0.fetch(Query<Employee>().where(#Predicate { $0.id.name == "ada" }))
            }
        }
        #expect(own.contains("compare the id itself"), "\(own)")
    }
}
