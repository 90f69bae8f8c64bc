import Foundation
import Glibc
import Threading

@testable import BackstitchHubPostgreSQL

/// A way to the server that is cut around a commit.
final class CuttingProxy: Sendable {
    /// What happens to the next connection that commits what it wrote.
    enum Cut: CaseIterable, Sendable {
        /// The server hears nothing of the commit, and that the connection is gone.
        case before
        /// The server hears nothing at all: neither of the commit nor of the end.
        case silently
        /// The commit comes a second after the client knows that the connection is gone.
        case late
        /// The server commits, and its answer is lost.
        case after
    }

    let folder: String
    private let server: String
    private let listener: Int32
    private let plan = Locked(Plan())

    private struct Plan {
        var cut: Cut?
        var isStopped = false
        /// Connections to the server that were left open.
        var kept: [Int32] = []
    }

    init(to folder: String) throws {
        server = folder + "/.s.PGSQL.5432"
        self.folder = "/tmp/backstitch-cut-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: self.folder, withIntermediateDirectories: true)
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let path = self.folder + "/.s.PGSQL.5432"
        guard
            Self.withAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0
        else { throw POSIXError(.EADDRINUSE) }
        SystemThread.detach { [self] in accept() }
    }

    /// Cuts the next commit.
    func cutNext(_ cut: Cut) { plan.withLock { $0.cut = cut } }

    /// Whether nothing is going to be cut.
    var isIdle: Bool { plan.withLock { $0.cut == nil } }

    func stop() {
        let kept = plan.withLock { plan in
            plan.isStopped = true
            return plan.kept
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for descriptor in kept { close(descriptor) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard Self.withAddress(server, { connect(upstream, $0, $1) }) == 0 else {
                close(client)
                close(upstream)
                continue
            }
            SystemThread.detach { [self] in forward(client, upstream) }
        }
    }

    /// Forwards both ways until one side ends, or the connection is cut.
    private func forward(_ client: Int32, _ upstream: Int32) {
        var keeps = false
        defer {
            close(client)
            if !keeps { close(upstream) }
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var descriptors = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: upstream, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&descriptors, 2, -1) > 0 else { return }
            if descriptors[1].revents != 0 {
                let count = read(upstream, &buffer, buffer.count)
                guard count > 0, Self.write(buffer[..<count], to: client) else { return }
            }
            guard descriptors[0].revents != 0 else { continue }
            let count = read(client, &buffer, buffer.count)
            guard count > 0 else { return }
            switch takeCut(buffer[..<count]) {
            case nil: guard Self.write(buffer[..<count], to: upstream) else { return }
            case .before: return
            case .silently:
                keeps = true
                plan.withLock { $0.kept.append(upstream) }
                return
            case .late:
                shutdown(client, Int32(SHUT_RDWR))
                usleep(1_000_000)
                _ = Self.write(buffer[..<count], to: upstream)
                _ = read(upstream, &buffer, buffer.count)
                return
            case .after:
                _ = Self.write(buffer[..<count], to: upstream)
                _ = read(upstream, &buffer, buffer.count)
                // What the server says of the commit comes a little after what it says of the rows.
                usleep(50_000)
                return
            }
        }
    }

    /// How the connection is cut, if these bytes have it write and commit: statements go by their names.
    private func takeCut(_ bytes: ArraySlice<UInt8>) -> Cut? {
        func has(_ statement: Statement) -> Bool {
            let name = [0] + Array(statement.name.utf8) + [0]
            return bytes.indices.contains { bytes[$0...].starts(with: name) }
        }
        return plan.withLock { plan in
            let writes = has(PartitionCommit.write) || has(PartitionCommit.put)
            guard plan.cut != nil, writes, has(PartitionCommit.commit) else { return nil }
            defer { plan.cut = nil }
            return plan.cut
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
