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

    /// How long each race goes on, in seconds: a seventh of `RACE_SECONDS`, which is 9 unless given.
    static var seconds: Double {
        let all = ProcessInfo.processInfo.environment["RACE_SECONDS"].flatMap(Double.init) ?? 9
        return all / 7
    }

    static func store(at path: String) throws -> Store {
        try Store(
            at: path, schema: schema,
            configuration: StoreConfiguration(
                durability: .relaxed, projections: [inline, late]))
    }

    /// Runs rounds until the time is up, at least one.
    ///
    /// - Returns: how many.
    static func rounds(_ round: (Int) async throws -> Void) async rethrows -> Int {
        let end = ContinuousClock.now + .seconds(seconds)
        var count = 0
        repeat {
            try await round(count)
            count += 1
        } while ContinuousClock.now < end
        return count
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
