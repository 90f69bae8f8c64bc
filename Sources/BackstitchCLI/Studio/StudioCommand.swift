import Backstitch
import BackstitchHub
import BackstitchStudio
import Foundation
import Terminal

/// Shows a store in the browser.
struct StudioCommand: Command {
    private struct Document: Encodable {
        let url: String
    }

    private static let listen = Syntax.Option(
        "listen", "HOST:PORT", "Where to listen; 127.0.0.1:0 unless given, which is any free port.")
    private static let writes = Syntax.Option(
        "allow-writes", nil, "Lets the page undo, revert, discard, compact and back up.")
    /// For work on the page: its files are served from this folder.
    private static let pageVariable = "BACKSTITCH_STUDIO_PAGE"

    /// The version of the program, which the page shows.
    let version: String
    let name = "studio"
    let summary = "Shows a store in the browser: records, history, conflicts, outbox, health."
    let syntax = Syntax(
        operands: [.store], options: [listen, writes, .json],
        notes: """
            Prints an address to open. It signs in once; only this machine reaches it. To look at a
            store of another machine, run it there and forward the port: ssh -L 8080:127.0.0.1:8080.
            It shows what other programs do with the store while they do it, and runs until it is
            interrupted (Control-C). Without --allow-writes nothing in the store is changed.

            JSON: one object, when it serves.
              url   the address to open
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let allowsWrites = arguments.has(Self.writes)
        let (host, port) = try Self.place(arguments.text(Self.listen) ?? "127.0.0.1:0")
        guard !Hub.isHub(at: path) else {
            throw UsageError(
                "'\(path.printable)' holds a hub. Studio shows stores; see 'backstitch hub --help'."
            )
        }
        let store = try Store.open(
            existing: path, access: allowsWrites ? .readWrite : .readOnly, checksPages: true)
        defer { store.close() }
        let source = StoreStudio(
            store: store, path: path, allowsWrites: allowsWrites, version: version)
        let interruption = Interruption()
        let server: StudioServer
        do {
            server = try StudioServer(
                host: host, port: port, source: source,
                pageFolder: ProcessInfo.processInfo.environment[Self.pageVariable])
        } catch let error as StudioError {
            throw UsageError(error.message)
        }
        if arguments.has(.json) {
            console.output.line(try JSON.line(Document(url: server.url)))
        } else {
            console.output.line("Open \(server.url)")
            console.output.line(
                allowsWrites ? "The page may change the store." : "The page changes nothing.")
        }
        console.output.flush()
        while !interruption.hasHappened {
            try? await SystemClock().sleep(for: .milliseconds(100))
        }
        await server.stop()
        return .success
    }

    /// The parts of `HOST:PORT`.
    static func place(_ text: String) throws(UsageError) -> (host: String, port: UInt16) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), colon > text.startIndex
        else { throw UsageError("--listen takes an address and a port, such as 127.0.0.1:8080.") }
        let host = text[..<colon]
        return (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host), port)
    }
}
