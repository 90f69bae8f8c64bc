import Backstitch
import Foundation
import Terminal

/// Two devices and a service, and what happens to them.
struct DemoStory<Record: DemoRecord> {
    let data: DemoData<Record>
    let console: Console
    /// Takes the lines of the story.
    let tell: (String) -> Void
    let folder: String
    let cloud: any DemoCloud
    let first: any DemoDevice
    let second: any DemoDevice
    var report = DemoReport()
    /// What the checks found wrong.
    var failures: [String] = []

    private let interruption = Interruption()

    init(
        _ data: DemoData<Record>, cloud: any DemoCloud, in folder: String, console: Console,
        tell: @escaping (String) -> Void
    ) async throws {
        self.cloud = cloud
        self.data = data
        self.folder = folder
        self.console = console
        self.tell = tell
        first = try await cloud.device("A", at: folder + "/a", data: data)
        second = try await cloud.device("B", at: folder + "/b", data: data)
        report.records = data.count
    }

    /// Tells the whole story; ``report`` and ``failures`` say how it went.
    mutating func run() async throws {
        try await importRecords()
        try await spread()
        try await disagree(under: .serverWins)
        try await disagree(under: .clientWins)
        try await crash()
        end()
        try await check()
    }

    /// Ends both devices.
    func end() {
        first.end()
        second.end()
    }

    // MARK: Import and first exchange

    private mutating func importRecords() async throws {
        let saved = try await perform(.save, on: first, "Saving on A")
        report.rates.savesPerSecond = Self.rate(data.count, saved.seconds)
        tell("")
        tell("1. Device A is offline and saves all of it.")
        tell(
            "   \(data.count.counted("record")) in transactions of "
                + "\(DemoWorker<Record>.recordsPerTransaction.grouped), each on disk when it "
                + "returned: \(report.rates.savesPerSecond.grouped) saves/s.")
        if let place = first.place, let other = second.place {
            tell("   A is \(place), B is \(other).")
        }
    }

    private mutating func spread() async throws {
        let pushed = try await sync(first, .serverWins, total: data.count)
        report.rates.pushedPerSecond = Self.rate(pushed.pushedRecords, pushed.seconds)
        let pulled = try await sync(second, .serverWins, total: data.count)
        report.rates.pulledPerSecond = Self.rate(pulled.pulledRecords, pulled.seconds)
        tell("")
        tell("2. Device A goes online, then device B. The service is \(cloud.title).")
        tell(
            "   A pushed \(pushed.pushedRecords.grouped) records in requests of "
                + "\(pushed.operationsPerRequest): \(report.rates.pushedPerSecond.grouped) "
                + "records/s.")
        tell(
            "   B pulled \(pulled.pulledRecords.grouped) records in pages of "
                + "\(pulled.recordsPerPage.grouped): \(report.rates.pulledPerSecond.grouped) "
                + "records/s.")
    }

    /// Runs a round of a device and shows how far it is.
    func sync(
        _ device: any DemoDevice, _ policy: ConflictPolicy, total: Int = 0
    ) async throws -> DemoAnswer {
        try await perform(
            .synchronise(policy: policy.description), on: device, "Synchronising \(device.name)",
            total: total)
    }

    // MARK: Tools

    /// Asks something of a device, and shows how far it is.
    @discardableResult
    func perform(
        _ order: DemoOrder, on device: any DemoDevice, _ title: String, total expected: Int = 0
    ) async throws -> DemoAnswer {
        try checkInterruption()
        let bar = console.progress(title)
        defer { bar.finish() }
        do {
            return try await device.perform(order) { done, total in
                bar.update(done: done, total: total > 0 ? total : expected)
            }
        } catch {
            // What ends this program may have ended the device too.
            try checkInterruption()
            throw error
        }
    }

    /// Ends the story early, so that its stores are removed, when the program is asked to end.
    func checkInterruption() throws {
        if interruption.hasHappened { throw CancellationError() }
    }

    static func rate(_ count: Int, _ seconds: Double) -> Int {
        seconds > 0 ? Int((Double(count) / seconds).rounded()) : 0
    }
}
