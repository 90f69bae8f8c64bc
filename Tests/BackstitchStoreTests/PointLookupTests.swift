import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

@Entity private struct Song {
    static let indexes: [EntityIndex<Song>] = [
        EntityIndex(.insensitive(\.title)), EntityIndex(.insensitive(\.album)),
    ]
    var id = ID()
    @Attribute(.indexed) var title: String
    var album: String?
}

/// Look-ups by one value are not planned. They must answer what planning would.
@Suite(.budgeted) struct PointLookupTests {
    let store: Store

    init() throws {
        store = try Store.inMemory(schema: .all)
        try store.write { transaction in
            for number in 0..<40 {
                try transaction.save(
                    Employee(
                        id: .init("e\(number)"), name: "n\(number % 7)",
                        email: "m\(number % 5)", age: number,
                        department: number % 3 == 0 ? nil : .init("d\(number % 3)")))
            }
            for number in 0..<3 {
                try transaction.save(Department(id: .init("d\(number)"), name: "\(number)"))
            }
        }
    }

    private func plans(_ query: Query<Employee>) throws -> (quick: QueryPlan, planned: QueryPlan) {
        try store.read { transaction in
            let binding = try transaction.types.binding(of: Employee.self)
            return (
                try transaction.reader.quickPlan(query, binding),
                try transaction.reader.plan(query, binding)
            )
        }
    }

    private func isLookup(_ query: Query<Employee>) throws -> Bool {
        try store.read { transaction in
            try transaction.types.binding(of: Employee.self).forms.withLock {
                query.pointLookup(&$0) != nil
            }
        }
    }

    @Test func `a look-up has the plan that planning gives it`() throws {
        for text in ["m1", "m9", "", "e\u{301}", "\u{e9}", String(repeating: "x", count: 300)] {
            let department = Department.ID("d1")
            let other: Department.ID? = .init(String(repeating: "d", count: 250))
            for query in [
                Query<Employee>().where(#Predicate { $0.email == text }),
                Query<Employee>().where(#Predicate { $0.email == text }).limit(2).offset(1),
                Query<Employee>().where(#Predicate { $0.department == department }),
                Query<Employee>().where(#Predicate { $0.department == other }),
                Query(ToMany<Employee>(owner: department, inverse: \.department)),
            ] {
                #expect(try isLookup(query))
                let (quick, planned) = try plans(query)
                #expect(quick.access == planned.access)
                #expect(quick.ordering == planned.ordering)
                #expect(quick.steps == planned.steps)
                #expect(quick.filter == planned.filter)
                #expect(quick.limit == planned.limit)
                #expect(quick.offset == planned.offset)
            }
        }
    }

    @Test func `a look-up answers what a scan does, however it is written`() throws {
        let all = try store.read { try $0.fetch(Employee.self) }
        for text in ["m1", "m9", "", "m", String(repeating: "x", count: 300)] {
            for window: (offset: Int, limit: Int)? in [nil, (1, 2), (0, 1), (7, 9), (8, 1)] {
                let expected = all.filter { $0.email == text }
                    .dropFirst(window?.offset ?? 0).prefix(window?.limit ?? .max)
                for query: Query<Employee> in [
                    Query().where(#Predicate { $0.email == text }),
                    Query().where(\.email, is: text),
                ] {
                    #expect(try isLookup(query))
                    let asked = window.map { query.offset($0.offset).limit($0.limit) } ?? query
                    #expect(try store.read { try $0.fetch(asked) } == Array(expected))
                }
            }
        }
    }

    @Test func `a look-up reads what its own write has changed, and the past as it was`() throws {
        let query = Query<Employee>().where(\.email, is: "m1")
        let before = try store.read { (try $0.lastSequence, try $0.fetch(query)) }
        try store.write { transaction in
            try transaction.save(Employee(id: .init("new"), name: "n", email: "m1"))
            try transaction.delete(before.1[0].id)
            #expect(
                try transaction.fetch(query).map(\.id) == before.1.dropFirst().map(\.id) + [
                    Employee.ID("new")
                ])
        }
        #expect(try store.read(at: before.0) { try $0.fetch(query) } == before.1)
    }

    @Test func `a look-up without case and accents answers what planning does`() throws {
        let store = try Store.inMemory(schema: StoreSchema(Song.self))
        let long = String(repeating: "É", count: 300)
        let texts = ["Ähre", "ahre", "AHRE", "Ahre ", "", "\0", "e\u{301}", "E", long, long + "x"]
        try store.write { transaction in
            for (number, text) in texts.enumerated() {
                try transaction.save(
                    Song(id: .init("s\(number)"), title: text, album: number > 5 ? nil : text))
            }
        }
        let before = try store.read { try $0.lastSequence }
        func found(_ query: Query<Song>) throws -> [String] {
            try store.read { transaction in
                let binding = try transaction.types.binding(of: Song.self)
                let planned = try transaction.reader.plan(query, binding)
                #expect(
                    try transaction.reader.quickPlan(query, binding).access == planned.access)
                var keys: [RecordKey] = []
                try transaction.reader.visit(planned) { key, _ in
                    keys.append(try RecordKey.stored(key))
                }
                let found = try transaction.fetch(query)
                #expect(found.map(\.id.key) == keys)
                return found.map(\.title)
            }
        }
        for text in texts + ["none"] {
            let title = Query<Song>().where(\.title, is: text, comparing: .insensitive)
            let album = Query<Song>().where(\.album, is: text, comparing: .insensitive)
            for query in [title, album, title.limit(2).offset(1), album.limit(1)] {
                _ = try found(query)
            }
        }
        let query = Query<Song>().where(\.title, is: "ÄHRE", comparing: .insensitive)
        #expect(try found(query) == ["Ähre", "ahre", "AHRE"])
        let nobody = Query<Song>().where(\.album, is: nil, comparing: .insensitive)
        #expect(try found(nobody) == ["e\u{301}", "E", long, long + "x"])
        try store.write { transaction in
            try transaction.save(Song(id: .init("new"), title: "Ahré"))
            try transaction.delete(Song.ID("s1"))
            #expect(try transaction.fetch(query).map(\.title) == ["Ähre", "AHRE", "Ahré"])
        }
        #expect(
            try store.read(at: before) { try $0.fetch(query).map(\.title) }
                == ["Ähre", "ahre", "AHRE"])
    }

    @Test func `what is no look-up is planned`() throws {
        let (text, nobody, number) = ("m1", Department.ID?.none, 3)
        let queries: [Query<Employee>] = [
            Query<Employee>(),
            Query<Employee>().where(#Predicate { $0.email != text }),
            Query<Employee>().where(#Predicate { $0.email == text && $0.name == text }),
            Query<Employee>().where(#Predicate { $0.email == $0.name }),
            Query<Employee>().where(#Predicate { text == $0.email }),
            Query<Employee>().where(#Predicate { $0.email == text }).sorted(by: \.name),
            Query<Employee>().where(#Predicate { $0.email == text }).limit(0),
            Query<Employee>().where(#Predicate { $0.email == text })
                .where(#Predicate { $0.name == text }),
        ]
        for query in queries { #expect(try !isLookup(query)) }
        // Of these the form is that of a look-up, but no index answers them alone.
        for query in [
            Query<Employee>().where(#Predicate { $0.age == number }),
            Query<Employee>().where(#Predicate { $0.department == nobody }),
            Query<Employee>().where(#Predicate { $0.name == text }),
            Query<Employee>().where(\.name, is: text),
        ] {
            let (quick, planned) = try plans(query)
            #expect(quick.access == planned.access)
            #expect(quick.filter == planned.filter)
        }
    }

    @Test func `look-ups find what a predicate finds in memory`() throws {
        let all = try store.read { try $0.fetch(Employee.self) }
        for number in 0..<6 {
            let (text, id) = ("m\(number)", Department.ID("d\(number)"))
            let byText: Predicate<Employee> = #Predicate { $0.email == text }
            let byID: Predicate<Employee> = #Predicate { $0.department == id }
            for predicate in [byText, byID] {
                let expected = try all.filter { try predicate.evaluate($0) }
                let query = Query<Employee>().where(predicate)
                let (found, count) = try store.read {
                    (try $0.fetch(query), try $0.count(query))
                }
                #expect(found == expected)
                #expect(count == expected.count)
            }
        }
    }

    @Test func `a negative limit or offset is refused as ever`() throws {
        let text = "m1"
        let query = Query<Employee>().where(#Predicate { $0.email == text })
        #expect(throws: StoreError.self) { try store.read { try $0.fetch(query.limit(-1)) } }
        #expect(throws: StoreError.self) { try store.read { try $0.fetch(query.offset(-1)) } }
    }
}
