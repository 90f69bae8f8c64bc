import Backstitch
import CloudKitRecordService
import Foundation
import Glibc

/// A device of the demo in a process of its own: takes orders as lines of JSON, until there are no more.
struct DemoDeviceCommand: Command {
    static let commandName = "demo-device"

    private static let author = Syntax.Option("name", "NAME", "The device's name.")
    private static let input = Syntax.Option(
        "input", "FILE", "The package index; the machine's unless given.")
    private static let countries = Syntax.Option(
        "countries", nil, "Saves countries, and no packages.")

    let name = commandName
    let summary = "Is a device of the demo, which tells it what to do."
    let syntax = Syntax(
        operands: [.store], options: ServiceOptions.all + [author, input, countries])

    /// The arguments of a device.
    static func arguments(name: String, _ data: DemoInput) -> [String] {
        let named = ["--" + author.name, name]
        switch data {
        case .packages(let path): return named + (path.map { ["--" + input.name, $0] } ?? [])
        case .countries: return named + ["--" + countries.name]
        }
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        if arguments.has(Self.countries) {
            return try await serve(arguments, console, schema: CountryData.schema) {
                CountryData.data
            }
        }
        let path = arguments.text(Self.input)
        return try await serve(arguments, console, schema: PackageIndex.schema) {
            // What is wrong with the data was told before.
            guard let reader = try DemoInput.read(path, console, report: { _ in }) else {
                throw DemoFailure("The package index of this machine is gone.")
            }
            return reader.index.data
        }
    }

    private func serve<Record: DemoRecord>(
        _ arguments: Arguments, _ console: Console, schema: Schema,
        data: @escaping () throws -> DemoData<Record>
    ) async throws -> ExitCode {
        let worker = try DemoWorker<Record>(
            arguments.text(Self.author) ?? name, at: arguments.operands[0], schema: schema,
            service: try ServiceOptions.service(arguments), data: data,
            die: { store throws(ServiceError) in try Self.die(store, console) })
        defer { worker.close() }
        while let line = readLine() {
            do {
                let order = try JSON.value(DemoOrder.self, Array(line.utf8))
                let answer = try await worker.perform(order) { done, total in
                    Self.tell(.progress(done: done, total: total), console)
                }
                Self.tell(.answer(answer), console)
            } catch {
                Self.tell(.failure(Failure.describe(error)), console)
            }
        }
        return .success
    }

    /// Tells what the device knows, and ends it as a power cut would: no code of it runs any more.
    private static func die(_ store: Store, _ console: Console) throws(ServiceError) {
        guard let counts = try? store.read({ try OutboxCounts($0.reader) }) else {
            throw ServiceError(.network, reason: "the store can't be read")
        }
        tell(.answer(DemoAnswer(waiting: .init(counts))), console)
        kill(getpid(), SIGKILL)
    }

    private static func tell(_ message: DemoMessage, _ console: Console) {
        guard let line = try? JSON.line(message) else { return }
        console.output.line(line)
        console.output.flush()
    }
}
