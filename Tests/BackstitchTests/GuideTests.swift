import Backstitch
import BackstitchTesting
import BackstitchViews
import CloudKitRecordService
import Foundation
import TestBudget
import Testing

// The code of the README and the guides, word for word, with that of the other files Guide….swift; a test
// compares them.

@Entity struct Department {
    var id = ID()
    var name: String
    @Relationship(inverse: \Employee.department) var employees: ToMany<Employee>
}

@Entity struct Employee {
    var id = ID()
    var name: String
    @Attribute(.indexed) var email: String
    var salary: Decimal
    var hiredAt: Date
    var nickname: String?
    @Relationship(onDelete: .cascade) var department: Department.ID?
}

@Entity struct Assignment {
    var id = ID()
    var position: PositionKey
    @Relationship(onDelete: .cascade) var employee: Employee.ID?
    @Relationship(onDelete: .cascade) var department: Department.ID?
}

struct NamesInUse: RecordProjection {
    let name = "names-in-use"
    let entities: ProjectedEntities = .of(Employee.self)

    func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws {
        if let old = try change.before(Employee.self) {
            try view.add(-1, to: ViewKey(.string(old.name)))
        }
        if let new = try change.after(Employee.self) {
            try view.add(1, to: ViewKey(.string(new.name)))
        }
    }
}

@Entity struct Resident {
    static let indexes: [EntityIndex<Resident>] = [
        EntityIndex(\.city, \.born), EntityIndex(.insensitive(\.name)),
    ]
    var id = ID()
    var name: String
    var city: String?
    var born: Date
}

@Embeddable struct Size {
    @Attribute(.indexed) var width: Double
    var height = 1.0
}

@Entity struct Parcel {
    var id = ID()
    @Attribute(.embedded) var size: Size
}

@Entity struct Todo {
    var id = ID()
    @Attribute(.indexed) var title: String
    var created = Date()
    var isDone = false
}

@Entity struct Photo {
    var id = ID()
    var title: String
    var image: Asset?
    var pages: [Asset] = []
}

@Entity struct Voice {
    var id = ID()
    @Attribute(.afterwards) var recording: Asset?
}

@Entity struct Drawing {
    var id = ID()
    var title: String
    @Attribute(.external) var strokes: Data
}

@Suite(.budgeted) struct GuideTests {
    private func temporaryFolder() -> String {
        FileManager.default.temporaryDirectory
            .appendingPathComponent("guide-\(UUID().uuidString)").path
    }

    @Test func `what the guide saves can be read`() async throws {
        let directory = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: directory) }

        let store = try Store(at: directory, schema: StoreSchema(Department.self, Employee.self))

        let engines = Department(name: "Engines")
        var ada = Employee(
            name: "Ada", email: "ada@example.org", salary: 4000, hiredAt: Date(), nickname: nil,
            department: engines.id)
        try await store.write { [ada] tx in
            try tx.save(engines)
            try tx.save(ada)
        }

        ada.salary = 4200
        try await store.save(ada)  // only the salary becomes an operation

        let staff = try store.read { tx in
            try tx.fetch(
                Query<Employee>()
                    .where(#Predicate { $0.salary > 1000 && $0.name.starts(with: "A") })
                    .sorted(by: \.name)
                    .limit(50))
        }
        let colleagues = try store.read { try $0.fetch(engines.employees) }

        #expect(staff.map(\.salary) == [4200])
        #expect(colleagues.map(\.id) == [ada.id])
        #expect(try store.read { try $0.lastSequence } == 3)
        store.close()
    }

    @Test func `the files of the guide go in, come out and are kept in order`() async throws {
        let directory = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try Store(at: directory, schema: StoreSchema(Photo.self))
        let file = directory.appendingPathComponent("harbour.jpg")
        try Data(repeating: 7, count: 100_000).write(to: file)
        let parts = [Data("one".utf8), Data("two".utf8)]
        var size = 0

        let image = try await store.assets.add(contentsOf: file, contentType: "image/jpeg")
        try await store.save(Photo(title: "Harbour", image: image))

        let note = try await store.assets.add(fileName: "note.txt") { writer in
            for part in parts { try writer.write(part) }
        }

        let reader = try await store.assets.open(image)
        for try await chunk in reader.chunks(of: 64 << 10) { size += chunk.count }
        let beginning = try reader.read(at: 0, count: 16)

        try await store.assets.evict(downTo: 1 << 30)
        try await store.assets.pin(image)
        let usage = store.assets.usage()

        var configuration = SyncConfiguration(zoneName: "Photos")
        configuration.assetDownloads = .matching { entity, field, byteCount in
            entity == "Photo" && byteCount < 1 << 20
        }
        #expect(size == 100_000 && beginning == Data(repeating: 7, count: 16))
        #expect(note.byteCount == 6 && usage.files == 2)
        #expect(image.fileName == "harbour.jpg" && image.contentType == "image/jpeg")
        store.close()
    }

    @Test func `values of the guide that lie in files are saved and read`() async throws {
        let directory = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try Store(at: directory, schema: StoreSchema(Drawing.self, Voice.self))
        let drawing = Drawing(title: "Harbour", strokes: Data(repeating: 7, count: 2_000_000))
        try await store.save(drawing)
        try await store.save(Voice(recording: nil))
        let found = try #require(try store.read { try $0.find(drawing.id) })
        #expect(found.strokes == drawing.strokes)
        let name = drawing.id.name
        let title = try store.read { try $0.record(name, of: "Drawing") }?.values["title"]
        #expect(title == .string("Harbour"))
        store.close()
    }

    @Test func `what the guide asks is answered`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try await store.write { tx in
            try tx.save(
                Employee(
                    name: "Ada", email: "ada@example.org", salary: 4000, hiredAt: Date(),
                    nickname: nil, department: nil))
        }

        let pay = try store.read { tx in
            try tx.groups(Query<Employee>(), by: GroupKeys(\.department), .count(), .sum(\.salary))
        }
        let names = try store.read { try $0.select(Query<Employee>(), \.name, \.email) }

        for try await page in store.pages(Query<Employee>().sorted(by: \.email), size: 500) {
            print(page.count)  // each page is a short read of its own
        }
        let changed = try await store.write { tx in
            let unnamed = Query<Employee>().where(#Predicate { $0.nickname == nil })
            return try tx.update(unnamed, set: \.nickname, to: "-")
        }
        #expect(pay.map(\.values.1) == [4000])
        #expect(names.map(\.0) == ["Ada"])
        #expect(changed == 1)
    }

    @Test func `what the guide narrows by typed tests is found`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        for name in ["Ada", "Alan", "Bob"] {
            try await store.save(
                Employee(
                    name: name, email: "x@example.org", salary: 2000, hiredAt: Date(),
                    nickname: name == "Alan" ? nil : "n", department: nil))
        }
        let names = ["da", "lan"]

        let wellPaid = Query<Employee>()
            .where(\.salary, in: 1_000..<5_000)
            .where(\.name, startsWith: "A")
            .where(\.nickname, isNot: nil)
            .sorted(by: \.hiredAt, order: .reverse)
            .sorted(by: \.name)  // where the dates are the same

        var wanted: [QueryCondition<Employee>] = []  // made at run time, such as of a search form
        for name in names { wanted.append(QueryCondition().where(\.name, contains: name)) }
        let found = try store.read { try $0.fetch(wellPaid.where(.any(wanted))) }

        #expect(found.map(\.name) == ["Ada"])
    }

    @Test func `conditions of the guide follow relationships`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try await store.write { tx in
            for name in ["Sales", "Research"] {
                try tx.save(Department(id: .init(name), name: name))
            }
            for (name, department) in [("Ada", "Sales"), ("Alan", "Research"), ("Bo", "Sales")] {
                try tx.save(
                    Employee(
                        name: name, email: "x@example.org", salary: 2000, hiredAt: Date(),
                        department: .init(department)))
            }
        }

        let sales = QueryCondition<Department>().where(\.name, is: "Sales")
        let crowded = Query<Department>().where(\.employees, count: 2...)
        let staff = Query<Employee>()
            .where(\.department, fulfils: sales)
            .sorted(by: \.department, \.name)
        let (people, departments) = try store.read { try $0.fetch(staff, including: \.department) }
        let first = departments[people[0].department]?.name

        #expect(people.count == 2)
        #expect(first == "Sales")
        #expect(try store.read { try $0.fetch(crowded).map(\.name) } == ["Sales"])
    }

    @Test func `what the guide stores in parts is found by parts`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Parcel.self))
        try await store.save(Parcel(size: Size(width: 3)))
        try await store.save(Parcel(size: Size(width: 1)))

        let wide = try store.read { tx in
            try tx.fetch(
                Query<Parcel>().where(\.size.width, greaterThan: 2).sorted(by: \.size.height))
        }

        #expect(wide.map(\.size.width) == [3])
    }

    @Test func `a search that the guide gives up ends`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let text = "a"

        let search = Task {
            try await store.asyncRead {
                try $0.fetch(Query<Employee>().where(\.name, contains: text))
            }
        }
        search.cancel()  // it throws CancellationError within a few hundred rows

        if case .success(let found) = await search.result { #expect(found.isEmpty) }
    }

    @Test func `what the guide changes in parts is changed`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try await store.write {
            _ = try $0.save(
                Employee(name: "Bob", email: "bob@example.org", salary: 1, hiredAt: Date()))
        }
        let unnamed = Query<Employee>().where(#Predicate { $0.nickname == nil })
        try await store.update(unnamed, inPartsOf: 1_000) { $0.nickname = "-" }
        #expect(try store.read { try $0.fetch(Employee.self) }.map(\.nickname) == ["-"])
    }

    @Test func `what the guide watches ends with the store`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let engines = Department(name: "Engines")
        try await store.write { _ = try $0.save(engines) }
        let watching = Task { try await watch(store, engines) }
        store.close()
        _ = await watching.result
    }

    @Test func `what the guide observes is the result of the read`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let engines = Department(name: "Engines")
        try await store.write { _ = try $0.save(engines) }
        let overview = store.observe { tx in
            (employees: try tx.count(Employee.self), engines: try tx.find(engines.id))
        }
        var results = overview.makeAsyncIterator()
        #expect(try await results.next()?.engines?.name == "Engines")
    }

    private func watch(_ store: Store, _ engines: Department) async throws {
        for try await rows in store.observe(engines.employees) {
            print(rows.map(\.name))  // now, and again after every change
        }
        for await changes in store.changes() {
            print(changes.inserted(Employee.self), changes.deleted(Employee.self))
        }
    }

    @Test func `what the guide synchronises arrives`() async throws {
        let cloud = SimulatedCloud()
        let service = cloud.connection(device: "a")
        service.failNext(.modify, with: .lostReply)  // the service saves, the reply is lost

        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try await synchronise(store, service)
        #expect(cloud.records(in: ZoneID("Notes")).isEmpty)
    }

    private func synchronise(_ store: Store, _ service: SimulatedRecordService) async throws {
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Notes", conflictPolicy: .serverWins))
        try await engine.start()  // a first round, then one after every save
        let report = try await engine.sync()  // one full round now
        print(report.pushedRecords, report.pulledRecords, report.conflicts)
        let payload = Data(#"{"ck":{"fet":{"sid":"Notes-changes","zid":"Notes"}}}"#.utf8)
        try await follow(engine, payload, through: try store.read { try $0.lastSequence })
        await engine.stop()
    }

    @Test func `what the guide says of conflicts is so`() async throws {
        let cloud = SimulatedCloud()
        let configuration = SyncConfiguration(
            zoneName: "Notes", conflictPolicy: .merge(otherwise: .resolver),
            deletePolicy: .editWins,
            entityRules: [
                "Employee": ConflictRules.EntityRules(fields: [
                    "salary": .serverWins, "nickname": .clientWins,
                ])
            ],
            conflictResolver: { conflict in
                guard conflict.contested.contains("name"), let name = conflict.local?["name"]
                else { return .server }
                return .fields(["name": name])  // the rest as the service has it
            })
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"), configuration: configuration)
        var ada = Employee(
            name: "Ada", email: "ada@example.org", salary: 4000, hiredAt: Date(), nickname: nil,
            department: nil)
        let hired = ada
        try await store.write { _ = try $0.save(hired) }
        try await engine.sync()
        try cloud.write(
            ada.id.key.name.description, type: "Employee",
            fields: ["name": .string("Theirs"), "salary": .double(5000)], in: ZoneID("Notes"))
        ada.name = "Mine"
        ada.salary = 3000
        let edited = ada
        try await store.write { _ = try $0.save(edited) }
        try await engine.sync()
        #expect(try store.read { try $0.find(Employee.self, hired.id) }?.name == "Mine")

        for conflict in try engine.conflicts(
            matching: RecordConflict.Filter(entity: "Employee"), limit: 20)
        {
            print(conflict.record, try conflict.local(as: Employee.self)?.salary ?? 0)
            try await store.undoConflict(conflict.sequence)  // what was lost, as an ordinary edit
        }
        #expect(try store.read { try $0.find(Employee.self, hired.id) }?.salary == 3000)
    }

    private func follow(
        _ engine: SyncEngine, _ payload: Data, through sequence: UInt64
    ) async throws {
        if let notification = SyncNotification(json: payload) {
            print(await engine.handle(notification: notification))  // whether it was ours
        }
        await engine.connectivityChanged(isReachable: true)  // without a network nothing is tried

        for record in try engine.parked() {
            print(record.record, record.reason)
        }
        try await engine.retryParked()  // or edit the record, or engine.discardParked(_:)
        let refused = try await engine.waitUntilSynced(operation: sequence)  // nil, or parked
        #expect(refused == nil)
    }

    @Test func `what the guide links is in order`() throws {
        let promoted = Employee(
            name: "Ada", email: "ada@example.org", salary: 4000, hiredAt: Date(), nickname: nil,
            department: nil)
        let engines = Department(name: "Engines")
        let previous = Assignment(
            position: try PositionKey.between(nil, nil, jitter: 1), employee: nil, department: nil)

        let assignment = Assignment(
            id: .init(linking: promoted.id, to: engines.id),
            position: try PositionKey.between(
                previous.position, nil, jitter: .random(in: 0 ... .max)),
            employee: promoted.id, department: engines.id)

        #expect(previous.position < assignment.position)
        #expect(assignment.id == .init(linking: promoted.id, to: engines.id))
    }

    @Test func `what the guide selects is synchronised, and the rest is not`() async throws {
        let cloud = SimulatedCloud()
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let raised = Employee(
            name: "Ada", email: "ada@example.org", salary: 4000, hiredAt: Date(), nickname: nil,
            department: nil)
        var other = raised
        other.id = "seasonal"
        let seasonal = other

        let selection = try SyncConfiguration.Selection(Department.self, Employee.self)
            .pushing(#Predicate<Employee> { $0.nickname != "draft" })

        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(
                zoneName: "Notes", syncOnSave: false, selection: selection))
        try await store.write { _ = try $0.save(raised) }

        try await store.write(isLocalOnly: true) { try $0.save(seasonal) }  // is never pushed

        try await engine.sync()
        #expect(cloud.records(in: ZoneID("Notes")).count == 1)

        try await store.write { try $0.evict(raised.id) }  // gone here, and not on the service
        try await engine.fetchAgain([raised.id])

        #expect(try store.read { try $0.fetch(Employee.self).count } == 2)
    }

    @Test func `what the guide takes back is as it was`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let ada = Employee(
            name: "Ada", email: "ada@example.org", salary: 4000, hiredAt: Date(), nickname: nil,
            department: nil)
        try await store.write { _ = try $0.save(ada) }
        let before = try store.read { try $0.lastSequence }
        var raised = ada
        raised.salary = 4200
        let promoted = raised

        try await store.write(author: "ada", context: "request 17") { tx in
            try tx.save(promoted)
        }
        for step in try store.history(of: ada.id) {  // newest first
            print(step.date, step.author, step.context, step.changes)
            print(try step.model(Employee.self)?.salary ?? 0)  // the record after that step
        }
        let staffBefore = try store.read(at: before) { try $0.fetch(Employee.self) }  // then

        let last = try store.read { try $0.transactions(limit: 10, by: "ada") }
        let undo = try await store.undo(transaction: last[0].id)  // by new operations
        try await store.redo(undo)
        #expect(try store.read { try $0.find(Employee.self, ada.id) }?.salary == 4200)

        try await store.revert(ada.id)  // gives up what was not synced

        let hidden = try store.unreadableRecords()  // by entity, such as ["Employee": 2]
        #expect(hidden.isEmpty)
        #expect(staffBefore.map(\.salary) == [4000])
        #expect(try store.read { try $0.count(Employee.self) } == 0)
    }

    @Test func `a schema of the guide has a version, and nothing that is not unique`() throws {
        let schema = StoreSchema(Employee.self, Department.self, version: 3)

        let store = try Store.inMemory(schema: schema)
        defer { store.close() }
        let violations = try store.read { try $0.uniqueViolations() }
        for (attribute, groups) in violations {
            for group in groups { print(attribute, group) }  // such as "Employee.email" and two ids
        }
        #expect(schema.version == 3)
        #expect(violations.isEmpty)
    }

    @Test func `what the guide keeps short has all its records`() async throws {
        let configuration = StoreConfiguration(retention: .keepUnsynced(days: 30))
        let store = try Store.inMemory(
            schema: StoreSchema(Department.self, Employee.self), configuration: configuration)
        try await store.write { _ = try $0.save(Department(name: "Engines")) }
        let compaction = try await store.compact(.keepUnsyncedOnly)
        print(compaction.operationsBefore, compaction.operationsAfter)
        print(compaction.returnedBytes, compaction.allocatedBytesAfter)
        #expect(compaction.operationsAfter == 1)
        let alone = StoreConfiguration(retention: .keepUnsynced(days: 30), syncs: false)
        let aloneStore = try Store.inMemory(
            schema: StoreSchema(Department.self, Employee.self), configuration: alone)
        #expect(try !aloneStore.info().syncs)
    }

    @Test func `what the guide erases is nowhere`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try await store.write { tx in
            _ = try tx.save(
                Employee(
                    id: "leaver", name: "Grace", email: "grace@example.org", salary: 1,
                    hiredAt: Date(), nickname: nil, department: nil))
        }
        let erased = try await store.erase(Employee.ID("leaver"), deletesOnService: true)
        print(erased)  // the number of operations that had values
        #expect(erased == 2)
        let history = try store.history(of: RecordID(entity: "Employee", name: "leaver"))
        #expect(history.allSatisfy { $0.values?.isEmpty ?? true })
    }

    @Test func `what the guide backs up and exports is there`() throws {
        let copy = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: copy) }
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try store.write { try $0.save(Department(name: "Engines")) }
        var records: [UInt8] = []

        let backup = try store.backup(to: copy)
        print(backup.lastSequence, backup.bytes)

        try store.export { part in records.append(contentsOf: part) }

        #expect(try Store.open(existing: copy).read { try $0.count(of: "Department") } == 1)
        #expect(records.last == UInt8(ascii: "\n"))
    }

    @Test func `what the guide exports is what the service does not have`() throws {
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        try store.write { try $0.save(Department(name: "Engines")) }
        var output: [UInt8] = []
        let lines = try store.exportOutbox { part in output.append(contentsOf: part) }
        #expect(lines == 1)
        #expect(String(decoding: output, as: UTF8.self).contains("\"Engines\""))
    }

    @Test func `what the guide projects follows the records`() async throws {
        let directory = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: directory) }
        let schema = StoreSchema(Department.self, Employee.self)
        let engines = Department(name: "Engines")
        let ada = Employee(
            name: "Ada Lovelace", email: "ada@example.org", salary: 4000, hiredAt: Date(),
            nickname: nil, department: engines.id)

        let pay = GroupedTotals("pay", of: Employee.self, by: \.department, sum: \.salary)
        let search = TextIndex(
            "search", TextSource(Employee.self, \.name, \.nickname), mode: .catchingUp)
        let store = try Store(
            at: directory, schema: schema,
            configuration: StoreConfiguration(projections: [pay, search, NamesInUse()]))
        #expect(try await store.write { try $0.save(ada) } == .inserted)

        let total = try store.read { try $0.view(of: pay).totals(of: engines.id)?.sum }
        try await store.prepareProjections()  // waits for the ones that catch up
        let found = try store.read {
            try $0.view(of: search).records("lovel", of: Employee.self)
        }
        let inUse = try store.read {
            try $0.view(of: NamesInUse()).integer(for: ViewKey(.string("Ada Lovelace")))
        }

        #expect(total == 4000)
        #expect(found.map(\.id) == [ada.id])
        #expect(inUse == 1)
    }

    @Test func `a search is ranked, narrowed, and shows why`() async throws {
        let directory = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: directory) }
        let schema = StoreSchema(Department.self, Employee.self)
        let ada = Employee(
            name: "Ada Lovelace", email: "ada@example.org", salary: 4000, hiredAt: Date(),
            nickname: "Countess", department: nil)

        let search = TextIndex(
            "search", TextSource(Employee.self, \.name, \.nickname, weights: [4, 1]))
        let store = try Store(
            at: directory, schema: schema, configuration: StoreConfiguration(projections: [search]))
        try await store.write { _ = try $0.save(ada) }

        let typed = "countess OR love"
        let wellPaid = Query<Employee>().where(\.salary, atLeast: 1000)
        let hits = try store.read { tx in
            try tx.view(of: search).hits(TextQuery(typed), where: wellPaid, limit: 20)
        }
        for hit in hits {
            let snippet = hit.snippet()
            print(hit.record.name, snippet.text, snippet.matches.map { snippet.text[$0] })
        }

        #expect(hits.map(\.record.id) == [ada.id])
    }

    @Test func `a client is made from credentials`() async throws {
        let (savedToken, apiToken) = ("web", "api")
        let hub = try #require(URL(string: "https://hub.example.com"))
        let keep: @Sendable (String) -> Void = { _ in }

        let token = WebAuthToken(savedToken) { newToken in keep(newToken) }
        var configuration = CloudKitConfiguration(
            container: "iCloud.com.example.notes",
            credentials: .user(apiToken: apiToken, webAuthToken: token))
        configuration.url = hub  // Apple's service unless set
        let service = try CloudKitRecordService(configuration)

        #expect(await service.limits.operationsPerRequest == 200)
        #expect(token.value == savedToken)
    }

    @Test func `devices of a test exchange until all is quiet`() async throws {
        let cloud = SimulatedCloud()
        let (phone, laptop) = try (engine("phone"), engine("laptop"))
        func engine(_ device: String) throws -> SyncEngine {
            SyncEngine(
                store: try Store.inMemory(schema: StoreSchema(Department.self, Employee.self)),
                service: cloud.connection(device: device),
                configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        }
        try await phone.store.write { _ = try $0.save(Department(name: "Engines")) }

        try await sync(phone, laptop, untilQuiet: 10)  // in turn, until no store changes any more

        #expect(try laptop.store.read { try $0.count(Department.self) } == 1)
    }

    @Test func `what the guide moves to another zone is there`() async throws {
        let cloud = SimulatedCloud()
        let store = try Store.inMemory(schema: StoreSchema(Department.self, Employee.self))
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        try await store.write { _ = try $0.save(Department(name: "Engines")) }

        try await engine.sync()  // the old zone and this store have everything then
        try await engine.move(to: "Notes2")  // uploads everything, edits that were not pushed too

        #expect(cloud.records(in: ZoneID("Notes2")).count == 1)
    }

    @Test func `what the README saves, reads and watches is there`() async throws {
        let directory = URL(filePath: temporaryFolder())
        defer { try? FileManager.default.removeItem(at: directory) }

        let store = try Store(at: directory, schema: StoreSchema(Todo.self))

        try saveTwice(in: store)

        let open = try store.read { tx in
            try tx.fetch(
                Query<Todo>().where(#Predicate { !$0.isDone }).sorted(by: \.created))
        }
        #expect(open.isEmpty)
        #expect(try store.read { try $0.lastSequence } == 2)
        let watching = Task { try await watchNotes(store) }
        store.close()
        _ = await watching.result
    }

    /// Code outside functions calls `save` without await, as this function does.
    private func saveTwice(in store: Store) throws {
        var todo = Todo(title: "Buy milk")
        try store.save(todo)  // in an async function: try await
        todo.isDone = true
        try store.save(todo)  // only isDone becomes an operation
    }

    private func watchNotes(_ store: Store) async throws {
        for try await todos in store.observe(Query<Todo>()) {
            print(todos.count)  // now, and again after every change
        }
    }

    @Test func `what the README synchronises arrives`() async throws {
        let phoneStore = try Store.inMemory(schema: StoreSchema(Todo.self))
        try await phoneStore.save(Todo(title: "Buy milk"))

        let cloud = SimulatedCloud()
        let phone = SyncEngine(
            store: phoneStore, service: cloud.connection(device: "phone"),
            configuration: SyncConfiguration(
                zoneName: "Notes", conflictPolicy: .merge(otherwise: .serverWins)))
        try await phone.start()  // a first round, then one soon after every save

        let report = try await phone.sync()  // or one round now
        print(report.pushedRecords, report.pulledRecords, report.conflicts)
        #expect(cloud.records(in: ZoneID("Notes")).count == 1)
        await phone.stop()
    }

    @Test func `records are changed once, and queried without case and accents`() throws {
        let trimmed = DataMigration("2: trimmed names", each: Resident.self) {
            transaction, resident in
            var resident = resident
            resident.name = resident.name.trimmingCharacters(in: .whitespaces)
            try transaction.save(resident)
        }
        let unknown = DataMigration("3: no empty cities") { transaction in
            try transaction.update(Query<Resident>().where(\.city, is: ""), set: \.city, to: nil)
        }
        let configuration = StoreConfiguration(dataMigrations: [trimmed, unknown])

        let store = try Store.inMemory(
            schema: StoreSchema(Resident.self), configuration: configuration)
        defer { store.close() }
        try store.write { tx in
            for (name, city) in [(" Änne", "Ulm"), ("ANNA ", ""), ("Bo", "Ulm")] {
                try tx.save(Resident(name: name, city: city, born: Date(timeIntervalSince1970: 0)))
            }
        }
        let names = try store.migrations.records().map(\.name)
        #expect(names == ["2: trimmed names", "3: no empty cities"])
        try store.migrations.repeatMigration(named: "2: trimmed names")
        try store.migrations.repeatMigration(named: "3: no empty cities")

        let anna = Query<Resident>()
            .where(\.name, startsWith: "ann", comparing: .insensitive)
            .sorted(by: \.name, comparing: .insensitive)
        let births = try store.read { tx in
            try tx.groups(anna, by: DatePeriod.month.of(\Resident.born), .count())
        }
        for section in try store.read({ try $0.fetch(anna.sections(by: \.city)) }) {
            print(section.key ?? "nowhere", section.count, section.records.map(\.name))
        }
        #expect(births.map(\.values) == [2])
        #expect(try store.read { try $0.fetch(anna).map(\.name) } == ["ANNA", "Änne"])
        let sections = try store.read { try $0.fetch(anna.sections(by: \.city)) }
        #expect(sections.map(\.key) == [nil, "Ulm"])

        if let club = try store.zone(named: "club") {
            try store.write {
                try $0.save(Resident(id: .init(in: club), name: "Cy", born: .now))
            }
            let members = try store.read { try $0.fetch(Query<Resident>().in(club)) }
            print(members.count)
        }
    }

    @Test func `the README's client is made`() throws {
        let (apiToken, savedToken) = ("api", "web")
        let hub = try #require(URL(string: "https://hub.example.com"))
        let keep: @Sendable (String) -> Void = { _ in }

        var configuration = CloudKitConfiguration(
            container: "iCloud.com.example.notes",
            credentials: .user(
                apiToken: apiToken, webAuthToken: WebAuthToken(savedToken) { keep($0) }))
        configuration.url = hub  // Apple's service if you leave it out
        let service = try CloudKitRecordService(configuration)
        #expect(service.scope == .private)
    }

    @Test func `code in sentences of the guides compiles and gives what they say`() async throws {
        let store = try Store.inMemory(schema: StoreSchema(Resident.self))
        defer { store.close() }
        let resident = Resident(name: "Ada", city: nil, born: Date(timeIntervalSince1970: 0))
        let id = resident.id
        let saved = try await store.save(resident)
        let (before, number, sequence) = try await store.write { tx in
            let before = tx.id
            try tx.delete(id)
            return (before, tx.id, tx.lastSequence)
        }
        #expect(saved.lastSequence == 1 && before == nil && sequence == 2)
        let numbered: UInt64 = try #require(number)
        _ = try await store.undo(transaction: numbered)
        let name = try store.read { transaction in
            try transaction.record(id.name, of: "Resident")?.values["name"]
        }
        #expect(name == .string("Ada"))
        for (page, code) in [
            ("modelling", #"transaction.record(id.name, of: "Resident")"#),
            ("syncing", "tx.lastSequence"), ("reading-and-writing", "`tx.id`"),
        ] {
            let here = URL(fileURLWithPath: #filePath)
            let text = try String(
                contentsOf: here.appendingPathComponent(
                    "../../../Documentation/guides/\(page).md"
                ).standardizedFileURL, encoding: .utf8)
            #expect(text.contains(code), "\(page)")
        }
    }

    @Test func `the README and the guides show what is tested here`() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sources = try FileManager.default
            .contentsOfDirectory(atPath: here.deletingLastPathComponent().path)
            .filter { $0.hasPrefix("Guide") && $0.hasSuffix(".swift") }
            .map { here.deletingLastPathComponent().appendingPathComponent($0) }
        let tested = try sources.map { Self.lines(try String(contentsOf: $0, encoding: .utf8)) }
            .joined(separator: "\n")
        let guides = root.appendingPathComponent("Documentation/guides")
        let pages = try FileManager.default.contentsOfDirectory(atPath: guides.path)
            .filter { $0.hasSuffix(".md") }.sorted().map { guides.appendingPathComponent($0) }
        #expect(pages.count >= 9)
        var blocksSeen = 0
        for page in [root.appendingPathComponent("README.md")] + pages {
            let text = try String(contentsOf: page, encoding: .utf8)
            let blocks = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
                $0.components(separatedBy: "```").first
            }
            for block in blocks where !block.hasPrefix(".package") {
                blocksSeen += 1
                // Paragraphs of a block may stand apart in the test; each stands there whole.
                let imports = block.components(separatedBy: "\n").filter {
                    $0.hasPrefix("import ")
                }
                let code = block.components(separatedBy: "\n").filter {
                    !$0.hasPrefix("import ")
                }.joined(separator: "\n")
                for paragraph in imports + code.components(separatedBy: "\n\n") {
                    #expect(
                        tested.contains(Self.lines(paragraph)),
                        "\(page.lastPathComponent) shows code that is not tested: \(paragraph)")
                }
            }
        }
        #expect(blocksSeen >= 25)
    }

    /// The text without indentation and blank lines.
    private static func lines(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }.joined(separator: "\n")
    }
}
