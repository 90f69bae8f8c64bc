import Backstitch
import BackstitchViews
import BenchmarkKit
import Foundation
import PeerInterface

/// Backstitch against itself: how its costs grow with sizes, writers and the length of the log.
struct EngineBenchmark {
    enum Part: String, CaseIterable {
        case append, group, rebuild, index, live, observed, processes, changes, open, sync
        case projections, scale, waiting, text, queries, hub
    }

    struct Options {
        var parts = Part.allCases
        var operations = 100_000
        var isJSON = false
        var directory: String?
        /// The program that runs the hub; without it the part is left out.
        var program: String?
        /// The file of descriptions to search; nil for those of this machine.
        var text: String?
        var output: String?
    }

    let options: Options
    let folder: String
    var results = Results(engines: [EngineKind.backstitch.rawValue])
    let samples: [Contact]

    private static let sampleCount = 10_000

    init(_ options: Options) {
        self.options = options
        let parent = options.directory ?? FileManager.default.currentDirectoryPath
        folder = parent + "/backstitch-bench-\(ProcessInfo.processInfo.processIdentifier)"
        samples = ContactSet(Dataset(records: Self.sampleCount, saves: 0, seed: 1)).contacts
    }

    mutating func run() async throws -> Results {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for part in options.parts where part != .hub || options.program != nil {
            Progress.show("engine, \(part.rawValue)")
            switch part {
            case .append: try append()
            case .group: try await group()
            case .rebuild: try await rebuild()
            case .index: try await index()
            case .live: try await live()
            case .observed: try await observed()
            case .processes: try await processes()
            case .changes: try await changes()
            case .open: try open()
            case .sync: try await sync()
            case .projections: try await projections()
            case .scale: try await scale()
            case .waiting: try await waiting()
            case .text: try text()
            case .queries: try await queries()
            case .hub: try await hub()
            }
        }
        Progress.clear()
        return results
    }

    mutating func note(_ name: String, _ value: Double, _ unit: String = "ns") {
        results.add(value, unit: unit, workload: name, engine: EngineKind.backstitch.rawValue)
    }

    /// Runs with a new store, which is deleted afterwards.
    func withStore<Result>(
        _ durability: StoreConfiguration.Durability = .full, _ body: (Store) throws -> Result
    ) throws -> Result {
        let store = try open(durability)
        defer { remove(store) }
        return try body(store)
    }

    func withStore<Result>(
        _ durability: StoreConfiguration.Durability = .full, _ body: (Store) async throws -> Result
    ) async throws -> Result {
        let store = try open(durability)
        defer { remove(store) }
        return try await body(store)
    }

    func open(
        _ durability: StoreConfiguration.Durability, _ projections: [any RecordProjection] = [],
        named name: String = "store", readThreads: Int? = nil
    ) throws -> Store {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        return try Store(
            at: URL(filePath: folder + "/" + name),
            schema: StoreSchema(Department.self, Contact.self),
            configuration: StoreConfiguration(
                durability: durability, readThreadsMax: readThreads, projections: projections))
    }

    func remove(_ store: Store) {
        store.close()
        try? FileManager.default.removeItem(at: store.directory)
    }

    /// A contact by number; values repeat, ids don't.
    func contact(_ number: Int) -> Contact { Self.contact(number, samples) }

    private static func contact(_ number: Int, _ samples: [Contact]) -> Contact {
        var contact = samples[number % samples.count]
        contact.id = Contact.ID(bytes: Person.identity(number, UInt64(number)))
        return contact
    }

    /// Saves contacts in one transaction.
    func save(_ numbers: Range<Int>, in store: Store) throws {
        let samples = samples
        try store.write { tx in
            for number in numbers { try tx.save(Self.contact(number, samples)) }
        }
    }

    /// Changes a field of contacts in one transaction.
    func raise(_ numbers: Range<Int>, in store: Store) throws {
        let samples = samples
        try store.write { tx in
            for number in numbers {
                var contact = Self.contact(number, samples)
                contact.balance += 1
                try tx.save(contact)
            }
        }
    }

    /// Splits numbers into transactions of 10,000 at most.
    static func parts(_ numbers: Range<Int>, of size: Int = 10_000) -> [Range<Int>] {
        stride(from: numbers.lowerBound, to: numbers.upperBound, by: size).map {
            $0..<min($0 + size, numbers.upperBound)
        }
    }
}
