import Backstitch
import Terminal

/// Shows operations of the log.
struct LogCommand: Command {
    private static let record = Syntax.Option(
        "record", "NAME", "Only operations of the record with this name.")
    private static let entity = Syntax.Option(
        "entity", "NAME", "Only operations of records of this entity.")
    private static let last = Syntax.Option("last", "N", "Only the last N of them.")
    private static let from = Syntax.Option(
        "from", "SEQUENCE", "Only those from this place in the log on.")
    private static let follow = Syntax.Option(
        "follow", nil, "Goes on with new ones, of any process, until interrupted.")

    /// The operations that are read at once; a read keeps writers from using space again.
    private static let batchCountMax = 256
    /// The time between two looks for new operations.
    private static let pollInterval = Duration.milliseconds(50)

    let name = "log"
    let summary = "Shows the operations of a store's log, oldest first."
    let syntax = Syntax(
        operands: [.store],
        options: [record, entity, ZoneOptions.zone, ZoneOptions.owner, last, from, follow, .json],
        notes: """
            Nothing in the store is changed. Following ends with exit code 0 when it is
            interrupted (Control-C) or when nobody reads the output any more.

            JSON: one object a line, for each operation:
              sequence             its place in the log, from 1 on
              kind                 insert, update, delete, acknowledge, park, release, forget; in
                                   place of compacted ones: baseline, journal
              origin               local, localOnly, remote, rebase
              author               who wrote it; may be empty
              context              what its transaction was for; may be empty
              transaction          the sequence of the first operation of the same transaction
              date                 the time of its clock, in UTC
              entity, record       whose it is
              zone, owner          the name of the record's zone, and whose that is; neither where
                                   it is the store's own, and no owner where it is yours
              previous             the sequence of the record's operation before; 0 for none
              changes              of each attribute: attribute, and before and after where there
                                   is a value
              changeTag            the service's tag, where it comes from the service
              acknowledgedThrough  the sequence up to which the service has the record
              parkReason           why the record was parked
              conflict             what it settled: policy, base, local, server and
                                   outcome, and the name of the copy where both were kept
                                   (values by attribute), each where the record existed there
            A value is an object with one member named by its type, such as {"string":"Ada"}.
            Its types: bool, int64, double, string, bytes (Base64), date (milliseconds since
            1970), decimal (text), uuid, reference (a record name), location, list.
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let last = try arguments.number(Self.last, as: Int.self)
        let from = try arguments.number(Self.from, as: UInt64.self)
        guard last == nil || from == nil else {
            throw UsageError("The options --last and --from exclude each other.")
        }
        let store = try open(toShow: arguments.operands[0])
        defer { store.close() }
        let zone = try ZoneOptions.chosen(arguments, of: store)
        let filter = LoggedOperation.Filter(
            entity: arguments.text(Self.entity),
            key: ZoneOptions.key(Self.record, arguments, in: zone), zone: zone)
        let writesJSON = arguments.has(.json)
        var isEmpty = true
        func write(_ operations: [LoggedOperation]) throws {
            isEmpty = isEmpty && operations.isEmpty
            for operation in operations {
                if writesJSON {
                    console.output.line(try JSON.line(LogDocument(operation, of: store)))
                } else {
                    for line in LogLines.lines(operation, of: store) {
                        console.output.line(line)
                    }
                }
            }
        }

        var next = from ?? 1
        if let last {
            let (operations, head) = try store.read {
                (try $0.lastOperations(limit: last, matching: filter), try $0.lastSequence)
            }
            try write(operations)
            next = head + 1
        }
        next = try Self.writeAll(of: store, from: next, filter, console.output, write)
        guard arguments.has(Self.follow) else {
            if isEmpty, !writesJSON { console.output.line("No operations.") }
            return .success
        }
        let interruption = Interruption()
        while !interruption.hasHappened, !console.output.isClosed, !console.output.hasNoReader {
            try await Task.sleep(for: Self.pollInterval)
            next = try Self.writeAll(of: store, from: next, filter, console.output, write)
        }
        return .success
    }

    /// Writes what is in the log from a place on.
    ///
    /// - Returns: the place behind the last operation.
    private static func writeAll(
        of store: Store, from first: UInt64, _ filter: LoggedOperation.Filter, _ output: Output,
        _ write: ([LoggedOperation]) throws -> Void
    ) throws -> UInt64 {
        var next = first
        while !output.isClosed {
            let (operations, head) = try store.read { transaction in
                let head = try transaction.lastSequence
                guard head >= next else { return ([LoggedOperation](), head) }
                let operations = try transaction.operations(
                    from: next, limit: batchCountMax, matching: filter)
                return (operations, head)
            }
            guard let last = operations.last else {
                next = max(next, head + 1)
                break
            }
            try write(operations)
            next = last.sequence + 1
        }
        output.flush()
        return next
    }
}
