import ChildProcess
import Foundation
package import Glibc
import Synchronization
import Waiting

/// A PostgreSQL server of the tests' own, in a temporary folder, that listens at a socket of that folder and
/// nowhere else. It keeps what it commits, as one in service does.
///
/// A server that dies is started again, as by a service manager. It ends with the process of the tests,
/// however that one ends.
package final class PostgreSQLCluster: Sendable {
    package struct Failure: Error {
        package let message: String
    }

    /// Where the programs of the server are, the newest version's; nil if there are none.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { Int($0) }.sorted().reversed()
            .map { "\(root)/\($0)/bin" }.first { access($0 + "/initdb", X_OK) == 0 }
    }()

    /// Whether there can be one; if not, says so where it can't be overlooked.
    package static let isInstalled: Bool = {
        if programs != nil { return true }
        FileHandle.standardError.write(
            Data(
                """
                SKIPPED on PostgreSQL, which is missing: install it with Tests/prepare.sh --all. Nothing \
                of the hub on a database is tested.

                """.utf8))
        return false
    }()

    /// One that tests share which leave it running.
    package static let shared = Result { try PostgreSQLCluster() }

    /// The folder of its socket and its data.
    package let folder: String
    private let keeper: ChildProcess
    private let hasStopped = Atomic(false)

    /// The address of its one database, for its one role.
    package var address: String { "host=\(folder) dbname=postgres user=postgres" }

    /// Starts one.
    ///
    /// - Parameter primary: Whose replica it is: it gets what that one commits, some time later.
    package init(following primary: PostgreSQLCluster? = nil) throws {
        guard let programs = Self.programs else { throw Failure(message: "PostgreSQL is missing.") }
        // A short path: that of a socket has up to 107 bytes.
        folder = "/tmp/backstitch-pg-" + UUID().uuidString.prefix(8)
        keeper = try ChildProcess([
            "/bin/sh", "-c", Self.script, "keeper", folder, programs, "\(getpid())",
            primary?.folder ?? "",
        ])
        let (keeper, ready) = (keeper, folder + "/ready")
        blockUntil { FileManager.default.fileExists(atPath: ready) || keeper.hasEnded }
        guard !FileManager.default.fileExists(atPath: ready) else { return }
        let complaint = String(decoding: keeper.complaint.readDataToEndOfFile(), as: UTF8.self)
        throw Failure(message: "The server did not start: \(complaint)")
    }

    deinit { stop() }

    /// Ends the server for good.
    package func stop() {
        guard !hasStopped.exchange(true, ordering: .relaxed) else { return }
        _ = FileManager.default.createFile(atPath: folder + "/stop", contents: nil)
        _ = try? keeper.wait()
    }

    /// What the server answers to a statement of an operator.
    package func ask(_ sql: String) throws -> String {
        guard let programs = Self.programs else { return "" }
        let child = try ChildProcess([
            programs + "/psql", "-h", folder, "-U", "postgres", "-XAtc", sql,
        ])
        let answer = child.output.readDataToEndOfFile()
        guard try child.wait() == .exit(code: 0) else { throw Failure(message: "Refused: \(sql)") }
        return String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// Waits until a replica has all that its primary has committed up to now.
    package func wait(for primary: PostgreSQLCluster) async throws {
        let position = try primary.ask("SELECT pg_current_wal_flush_lsn()")
        try await wait(until: "SELECT pg_last_wal_replay_lsn() >= '\(position)'")
    }

    /// Cuts a replica off, which then lacks what the primary commits from now on.
    package func cutOff() async throws {
        _ = try ask("ALTER SYSTEM SET primary_conninfo = ''")
        _ = try ask("SELECT pg_reload_conf()")
        try await wait(until: "SELECT count(*) = 0 FROM pg_stat_wal_receiver")
    }

    /// Makes a replica the server that takes writes.
    package func promote() async throws {
        _ = try ask("SELECT pg_promote()")
        try await wait(until: "SELECT NOT pg_is_in_recovery()")
    }

    private func wait(until sql: String) async throws {
        try await eventually(pausing: .milliseconds(50)) { try ask(sql) == "t" }
    }

    /// The process of the server, which has one more for each connection; nil while it is away.
    package var process: pid_t? {
        let text = try? String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    /// Kills the server, as when its machine fails: it starts again and recovers.
    package func kill() {
        if let process { _ = Glibc.kill(process, SIGKILL) }
    }

    /// Kills the process of a session, after which the server ends all of them and recovers.
    package func killSession() {
        guard let server = process else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for process in names.compactMap({ pid_t($0) }) {
            let folder = "/proc/\(process)"
            let status = (try? String(contentsOfFile: folder + "/stat", encoding: .utf8)) ?? ""
            let title = (try? String(contentsOfFile: folder + "/cmdline", encoding: .utf8)) ?? ""
            let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
            if fields.count > 1, pid_t(fields[1]) == server, title.contains("postgres: postgres ") {
                _ = Glibc.kill(process, SIGKILL)
                return
            }
        }
    }

    /// Waits until the server takes connections.
    package func wait() async throws {
        guard let programs = Self.programs else { return }
        try await eventually(pausing: .milliseconds(50)) {
            let look = try ChildProcess([programs + "/pg_isready", "-q", "-h", folder])
            return try look.wait() == .exit(code: 0)
        }
    }

    /// What is run with the server's settings, until it is stopped or the tests have gone. A server that ends
    /// before it has ever been ready is not started again.
    private static let script = """
        folder=$1 programs=$2 tests=$3 primary=$4
        mkdir -m 700 "$folder" || exit 1
        as() { "$@"; }
        complain() { tail -c 2000 "$folder/log" >&2; exit 1; }
        if [ "$(id -u)" -eq 0 ]; then
            chown postgres "$folder"
            as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
        fi
        cd "$folder"
        export LC_ALL=C
        if [ -n "$primary" ]; then
            as "$programs/pg_basebackup" -h "$primary" -U postgres -D "$folder/data" -R \\
                -c fast > "$folder/log" 2>&1 || complain
        else
            as "$programs/initdb" --no-sync -D "$folder/data" -U postgres --auth=trust -E UTF8 \\
                --no-locale > "$folder/log" 2>&1 || complain
        fi
        (
            while [ ! -e "$folder/stop" ]; do
                as "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= \\
                    -c max_connections=1000 -c shared_buffers=64MB -c max_wal_size=256MB \\
                    >> "$folder/log" 2>&1
                [ -e "$folder/ready" ] || : > "$folder/stop"
                sleep 0.1
            done
        ) &
        keeper=$!
        while kill -0 "$tests" 2> /dev/null && [ ! -e "$folder/stop" ]; do
            if [ ! -e "$folder/ready" ] &&
                as "$programs/pg_isready" -q -h "$folder" -d postgres; then
                : > "$folder/ready"
            fi
            sleep 0.1
        done
        : > "$folder/stop"
        as "$programs/pg_ctl" stop -D "$folder/data" -m immediate > /dev/null 2>&1
        wait "$keeper"
        [ -e "$folder/ready" ] || tail -c 2000 "$folder/log" >&2
        rm -rf "$folder"
        """
}
