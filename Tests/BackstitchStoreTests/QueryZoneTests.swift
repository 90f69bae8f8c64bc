import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// Queries for the records of one zone.
@Suite(.budgeted) struct QueryZoneTests {
    private let store: Store
    private let list: RecordID.Zone

    /// A store with records of the same names in two zones, which differ in their ages.
    init() async throws {
        store = try Store.inMemory(schema: .all)
        list = try await store.addZone()
        let zones = [RecordID.Zone.own, list]
        try await store.write { transaction in
            for (base, zone) in zip([0, 100], zones) {
                try transaction.save(Department(id: .init("d", in: zone), name: "D"))
                for number in 0..<30 {
                    try transaction.save(
                        Employee(
                            id: .init("e\(number)", in: zone), name: "n\(number % 7)",
                            email: "m\(number % 5)", age: base + number,
                            department: number % 3 == 0 ? nil : .init("d", in: zone)))
                }
            }
        }
    }

    private static let all = Query<Employee>()
    private static let queries: [(name: String, query: Query<Employee>)] = [
        ("all", all), ("some", all.where(#Predicate { $0.name == "n3" })),
        ("by value", all.where(#Predicate { $0.email == "m2" })),
        ("by condition", all.where(\.email, is: "m2")),
        ("by range", all.where(#Predicate { $0.email > "m2" })),
        ("by reference", all.where(\.department, is: Department.ID("d"))),
        ("by related", all.where(\.department, fulfils: #Predicate { $0.name == "D" })),
        ("by either", all.where(#Predicate { $0.email == "m1" || $0.email == "m4" })),
        ("by index order", all.sorted(by: \.email)),
        ("in memory", all.sorted(by: \.age, order: .reverse)),
        ("backwards", all.sorted(by: \.id, order: .reverse)),
    ]

    @Test(arguments: queries.map(\.name))
    func `a query of a zone gives what is of the zone, in the same order`(name: String) throws {
        let query = try #require(Self.queries.first { $0.name == name }).query
        try store.read { transaction in
            let found = try transaction.fetch(query)
            for zone in [RecordID.Zone.own, list, .public] {
                let expected = found.filter { $0.id.zone == zone }
                let inZone = query.in(zone)
                #expect(try transaction.fetch(inZone) == expected)
                #expect(try transaction.count(inZone) == expected.count)
                let names = try transaction.fetch(inZone.lowered()).map(\.id)
                #expect(names == expected.map(\.id.recordID))
                let part = Array(expected.dropFirst(2).prefix(5))
                #expect(try transaction.fetch(inZone.offset(2).limit(5)) == part)
                var (paged, cursor): ([Employee], QueryCursor?) = ([], nil)
                repeat {
                    let page = try transaction.page(inZone, after: cursor, count: 4)
                    paged += page.rows
                    cursor = page.next
                } while cursor != nil
                #expect(paged == expected)
            }
        }
    }

    @Test func `the last zone that is given counts`() throws {
        let ages = try store.read {
            try $0.fetch(Self.all.in(list).in(.own)).compactMap(\.age)
        }
        #expect(ages.sorted() == Array(0..<30))
        let query = RecordQuery(entity: "Employee").in(.own).in(list)
        #expect(try store.read { try $0.fetch(query) }.allSatisfy { $0.id.zone == list })
    }

    @Test func `the records at the other end of a relationship are those of the zone`() throws {
        try store.read { transaction in
            let department = try #require(try transaction.find(Department.ID("d", in: list)))
            let members = department.employees.query
            #expect(try transaction.count(members) == 20)
            #expect(try transaction.count(members.in(list)) == 20)
            #expect(try transaction.fetch(members.in(.own)) == [])
        }
    }

    @Test func `a scan reads no records of other zones`() throws {
        try store.read { transaction in
            let scan = Self.all.where(#Predicate { $0.name == "n3" }).in(list)
            #expect(
                try transaction.explain(scan).steps == [
                    "scan Employee within bounds of the key", "filter 1 condition",
                ])
            let number = try transaction.types.binding(of: Employee.self).number
            let scanned = try QueryExecutor.scan(
                scan.lowered(), in: transaction.reader.entityBinding(number), through: nil,
                after: nil, count: 100, on: transaction.reader, while: { _ in true },
                visit: { _, _ in })
            #expect(scanned.examined == 30 && scanned.matched == 4)
        }
    }

    @Test func `several threads give the records of a zone as one does`() async throws {
        var configuration = StoreConfiguration.quick
        configuration.readThreadsMax = 4
        let store = try Store.inMemory(schema: .all, configuration: configuration)
        let zones = [RecordID.Zone.own, try await store.addZone()]
        for zone in zones {
            try await store.write { transaction in
                for number in 0..<9_000 {
                    let id = Project.ID("p\(10_000 + number)", in: zone)
                    try transaction.save(Project(id: id, title: "\(number * 7_919 % 5_003)"))
                }
            }
        }
        let all = Query<Project>()
        let queries = [all, all.sorted(by: \.title), all.where(#Predicate { $0.title > "3" })]
        try store.read { transaction in
            for query in queries {
                let found = try transaction.fetch(query)
                for zone in zones {
                    let expected = found.filter { $0.id.zone == zone }
                    // Few words where all differ.
                    let isSame = try transaction.fetch(query.in(zone)) == expected
                    #expect(isSame && expected.count > 4_000)
                    #expect(try transaction.count(query.in(zone)) == expected.count)
                }
            }
        }
    }

    @Test func `a new id is of the zone that it is made for`() throws {
        let id = Employee.ID(in: list)
        #expect(id.zone == list && id.uuid != nil && id != Employee.ID(in: list))
        #expect(Employee.ID().zone == .own)
    }

    @Test func `what is written in another zone concerns no observer of a zone`() async throws {
        for zone in [RecordID.Zone.own, list] {
            for query in Self.queries.map(\.query) {
                let index = try store.footprint { _ = try $0.fetch(query.in(zone)) }
                for written in [RecordID.Zone.own, list] {
                    var changes = store.changes().makeAsyncIterator()
                    try await store.write { transaction in
                        for name in ["e3", "e10"] {
                            let id = Employee.ID(name, in: written)
                            guard var employee = try transaction.find(id) else { continue }
                            employee.age? += 1_000
                            try transaction.save(employee)
                        }
                    }
                    let change = try #require(await changes.next())
                    if written != zone { #expect(try !store.touches(index, change)) }
                }
            }
        }
    }
}
