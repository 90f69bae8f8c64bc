import Backstitch
import BackstitchViews
import Foundation

/// What the racing threads save.
@Entity("Raced") struct Raced: Equatable {
    var id = ID()
    @Attribute(.indexed) var owner: Int
    var number: Int
}

enum Racing {
    static let schema = StoreSchema(Raced.self)
    static let inline = GroupedTotals("inline", of: Raced.self, by: \.owner, sum: \.number)
    static let late = GroupedTotals(
        "late", of: Raced.self, by: \.owner, sum: \.number, mode: .catchingUp)

    /// How long each race lasts if `RACE_SECONDS` is given: a seventh of that.
    private static let seconds = ProcessInfo.processInfo.environment["RACE_SECONDS"]
        .flatMap(Double.init).map { $0 / 7 }

    static func store(at path: String) throws -> Store {
        try Store(
            at: path, schema: schema,
            configuration: StoreConfiguration(
                durability: .relaxed, projections: [inline, late]))
    }

    /// Runs so many rounds. If `RACE_SECONDS` is given, it runs instead as many as there is time for, at least one.
    ///
    /// - Returns: how many.
    static func rounds(
        _ count: Int, _ round: (Int) async throws -> Void
    ) async rethrows -> Int {
        let end = seconds.map { ContinuousClock.now + .seconds($0) }
        var done = 0
        repeat {
            try await round(done)
            done += 1
        } while end.map { ContinuousClock.now < $0 } ?? (done < count)
        return done
    }

    /// Runs a closure with a folder that is removed afterwards.
    static func withFolder<Result>(
        _ body: (String) async throws -> Result
    ) async throws -> Result {
        let memory = "/dev/shm"
        let parent =
            FileManager.default.isWritableFile(atPath: memory)
            ? memory : FileManager.default.temporaryDirectory.path
        let path = parent + "/race-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }

    /// What an iterator has ready, without waiting for more: a task that is cancelled gets what is
    /// there, and then the end.
    static func ready<Element: Sendable>(
        _ next: @escaping @Sendable () async throws -> Element?
    ) async throws -> [Element] {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var elements: [Element] = []
            while let element = try await next() { elements.append(element) }
            return elements
        }
        return try await task.value
    }
}
