package import BackstitchSync
import Backstitch
import Glibc
package import Terminal

/// A device in a process of its own: takes orders as lines of JSON from standard input, until there
/// are no more, and answers on standard output.
package struct DemoDeviceServer {
    private let name: String
    private let path: String
    private let service: any RecordService
    private let console: Console
    private let describe: (any Error) -> String

    /// A device with a store.
    ///
    /// - Parameter describe: Says in words what failed.
    package init(
        _ name: String, at path: String, service: any RecordService, _ console: Console,
        describe: @escaping (any Error) -> String
    ) {
        self.name = name
        self.path = path
        self.service = service
        self.console = console
        self.describe = describe
    }

    /// Takes orders.
    ///
    /// - Throws: if the store can't be opened. An order that fails is answered with the reason.
    package func run(_ input: DemoInput) async throws {
        switch input {
        case .countries: try await serve(CountryData.schema) { CountryData.data }
        case .packages(let path):
            try await serve(PackageIndex.schema) { [console] in
                // What is wrong with the data was told before.
                guard let reader = try DemoInput.read(path, console, report: { _ in }) else {
                    throw DemoFailure("The package index of this machine is gone.")
                }
                return reader.index.data
            }
        }
    }

    private func serve<Record: DemoRecord>(
        _ schema: StoreSchema, data: @escaping () throws -> DemoData<Record>
    ) async throws {
        let console = console
        let worker = try DemoWorker<Record>(
            name, at: path, schema: schema, service: service, data: data,
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
                Self.tell(.failure(describe(error)), console)
            }
        }
    }

    /// Tells what the device knows, and ends it as a power cut would: no code of it runs any more.
    private static func die(_ store: Store, _ console: Console) throws(ServiceError) {
        guard let counts = try? store.read({ try StoreInfo.Outbox($0.reader) }) else {
            throw ServiceError(.network, "the store can't be read")
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
