import Backstitch
import BackstitchHub
import BackstitchLog
import BackstitchStore
import BackstitchStudio
import Foundation
import Glibc
import LMDB
import Terminal

/// Shows a store in the browser.
struct StudioCommand: Command {
    private struct Document: Encodable {
        let url: String
    }

    private static let listen = Syntax.Option(
        "listen", "HOST:PORT", "Where to listen; 127.0.0.1:0 unless given, which is any free port.")
    private static let unixSocket = Syntax.Option(
        "unix-socket", "PATH", "Listens there in place of a port: for ssh -L 8080:PATH.")
    private static let writes = Syntax.Option(
        "allow-writes", nil,
        "Lets the page undo, edit, revert, discard, compact, back up and revoke.")
    /// For work on the page: its files are served from this folder.
    private static let pageVariable = "BACKSTITCH_STUDIO_PAGE"

    /// The version of the program, which the page shows.
    let version: String
    let name = "studio"
    let summary = "Shows a store or a hub in the browser: records, history, conflicts, users."
    let syntax = Syntax(
        operands: [
            Syntax.Operand(
                name: "STORE|HUB-DIR", summary: "The path of a store's folder, or of a hub's.")
        ], options: [listen, unixSocket, writes, .json],
        notes: """
            Of a hub it shows users, sessions and other credentials, databases with their zones and
            sizes, and slow requests. With --allow-writes the page can end sessions and revoke
            credentials; each is told on standard error, as in the audit log.

            Prints an address to open. It signs in once; only this machine reaches it. To look at a
            store of another machine, run it there and forward the port: ssh -L 8080:127.0.0.1:8080.
            Other users of that machine reach the port too, though not the page; a socket in the file
            system (--unix-socket) only its owner reaches.
            It shows what other programs do meanwhile, and runs until it is interrupted (Control-C).
            Without --allow-writes nothing in the store or hub is changed.

            JSON: one object, when it serves.
              url   the address to open
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let allowsWrites = arguments.has(Self.writes)
        let place = try Self.place(arguments)
        // Where both are, an earlier version put the hub into the store's file.
        let isHub = Hub.isHub(at: path) && !EnvironmentFiles(at: path).holdsStore
        let source: any StudioSource
        let close: @Sendable () -> Void
        if isHub {
            let hub = try await Hub(at: path)
            source = HubStudio(
                hub: hub, path: path, allowsWrites: allowsWrites, version: version
            ) { console.complain($0) }
            close = { hub.close() }
        } else {
            let store =
                allowsWrites
                ? try Store.open(existing: path, access: .readWrite, checksPages: true)
                : try open(toShow: path)
            source = try StoreStudio(
                store: store, path: path, allowsWrites: allowsWrites, version: version)
            close = { store.close() }
        }
        defer { close() }
        let interruption = Interruption()
        let server: StudioServer
        do {
            server = try StudioServer(
                at: place, source: source,
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
        if case .path(let path) = place { unsafe unlink(path) }
        return .success
    }

    private static func place(_ arguments: Arguments) throws(UsageError) -> LocalServer.Place {
        guard let path = arguments.text(unixSocket) else {
            let (host, port) = try place(arguments.text(listen) ?? "127.0.0.1:0")
            return .host(host, port: port)
        }
        guard !arguments.has(listen) else {
            throw UsageError("Give --listen or --unix-socket, and not both.")
        }
        return .path(path)
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
