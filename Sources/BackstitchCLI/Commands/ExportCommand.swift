import Backstitch
import BackstitchStore
import Terminal

/// Writes a store's records, or its log, as JSON Lines.
struct ExportCommand: Command {
    private struct Document: Encodable {
        let store: String
        let output: String
        let lines: Int
        let resumedBehind: String?
    }

    private static let entity = Syntax.Option(
        "entity", "NAMES", "Writes only these entities, with commas between them.")
    private static let log = Syntax.Option(
        "log", nil, "Writes the operations of the log instead of the records.")
    private static let file = Syntax.Option("output", "FILE", "Writes to a new file.")
    private static let resume = Syntax.Option(
        "resume", nil, "Goes on behind the last whole line of FILE.")
    private static let schema = Syntax.Option(
        "with-schema", nil, "Writes the schema first, for 'import --create'.")
    private static let files = Syntax.Option(
        "files", "DIR", "Copies the files of the records into a folder.")
    private static let operationsMax = 256

    let name = "export"
    let summary = "Writes a store's records, or its log, as JSON Lines."
    let syntax = Syntax(
        operands: [.store],
        options: [
            entity, ZoneOptions.zone, ZoneOptions.owner, log, schema, file, files, resume, .json,
        ],
        notes: """
            A line is a record: entity, record (its name), zone (its slot, where that is not 0), and
            values by attribute, those included that no schema declares. Values are objects with one
            member: bool, int64, double, string, bytes (Base64), date (milliseconds since 1970),
            decimal (text), uuid, reference (a record name), location, duration, asset, list. They
            are exact, and 'backstitch import' reads them. All records are of one moment; programs
            may use the store meanwhile. After --resume the rest is of the moment of that run.
            Deleted records are not written.

            With --with-schema, the first line is {"schema":…}: what 'import --create' makes a new
            store from. Without it, an import needs a store that a program made.

            With --files, the files that records hold and that are on this device are in DIR, each
            under its SHA-256, for 'import --files'. A record names them by 'content'.

            With --log, a line is an operation as 'backstitch log --json' writes it.

            JSON: one object, with --output only.
              store, output  the paths as given
              lines          the number of lines that were written
              resumedBehind  the record or the sequence that the file ended with, with --resume
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        guard let path = arguments.text(Self.file) else { return "Nothing was changed." }
        return "\(path.printable) has the lines up to here; go on with --resume."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let filePath = arguments.text(Self.file)
        if arguments.has(.json), filePath == nil {
            throw UsageError("The option --json needs --output: the lines are JSON already.")
        }
        if arguments.has(Self.resume), filePath == nil {
            throw UsageError("The option --resume needs --output.")
        }
        if arguments.has(Self.log), arguments.has(Self.schema) {
            throw UsageError("The options --log and --with-schema exclude each other.")
        }
        if arguments.has(Self.log), arguments.has(Self.files) {
            throw UsageError("The options --log and --files exclude each other.")
        }
        if arguments.has(Self.log), arguments.has(Self.entity) {
            throw UsageError("The options --log and --entity exclude each other.")
        }
        let store = try open(toShow: path)
        defer { store.close() }
        if let folder = arguments.text(Self.files) {
            _ = try store.assets.export(to: folder)
        }
        let (file, last) = try Self.open(filePath, resumes: arguments.has(Self.resume))
        let output = file?.output ?? console.output
        let progress = console.progress("Exporting")
        defer { progress.finish() }
        let lines: Int
        let place: String?
        do {
            (lines, place) = try Self.write(store, arguments, behind: last, output, progress)
        } catch is ReaderLeft where file == nil {
            // Whoever cuts a pipe has what it wanted; other failures the program tells by itself.
            return .success
        }
        try file?.finish()
        progress.finish()
        guard let filePath else { return .success }
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(store: path, output: filePath, lines: lines, resumedBehind: place)))
        } else {
            let behind = place.map { " behind \($0.printable)" } ?? ""
            console.output.line("Written: \(lines.counted("line"))\(behind).")
        }
        return .success
    }

    /// The reader of the output closed it.
    private struct ReaderLeft: Error {}

    private static func write(
        _ store: Store, _ arguments: Arguments, behind last: [UInt8]?, _ output: Output,
        _ progress: Progress
    ) throws -> (Int, String?) {
        let zone = try ZoneOptions.chosen(arguments, of: store)
        if arguments.has(log) {
            return try writeLog(of: store, in: zone, behind: last, output, progress)
        }
        let entities = arguments.text(entity)?.split(separator: ",").map(String.init)
        if arguments.has(schema), last == nil {
            output.line(try JSON.line(SchemaLine(schema: StoredSchema(of: store))))
        }
        return try writeRecords(of: store, entities, in: zone, behind: last, output, progress)
    }

    private static func open(
        _ path: String?, resumes: Bool
    ) throws -> (file: ExportFile?, last: [UInt8]?) {
        guard let path else { return (nil, nil) }
        guard resumes else { return (try ExportFile.create(path), nil) }
        let (file, last) = try ExportFile.resume(path)
        return (file, last)
    }

    private static func writeRecords(
        of store: Store, _ entities: [String]?, in zone: RecordID.Zone?, behind last: [UInt8]?,
        _ output: Output, _ progress: Progress
    ) throws -> (Int, String?) {
        var place: RecordID?
        if let last {
            place = RecordID(exportLine: last)
            guard place != nil else {
                throw Refusal("The last line of the file is no record. Export to a new file.")
            }
        }
        let total = try store.read { transaction in
            let names = entities ?? store.catalog.entities.map(\.name)
            return try names.reduce(0) { count, name in
                guard let zone else { return count + (try transaction.count(of: name)) }
                return count + (try transaction.count(RecordQuery(entity: name).in(zone)))
            }
        }
        let export = RecordExport(entities: entities, place: place, zone: zone)
        let count = try store.read { transaction in
            try export.run(transaction) {
                progress.update(done: $0, total: total)
            } to: { lines in
                output.write(String(decoding: lines, as: UTF8.self))
                if output.isClosed { throw ReaderLeft() }
            }
        }
        return (count, place.map { "\($0)" })
    }

    private static func writeLog(
        of store: Store, in zone: RecordID.Zone?, behind last: [UInt8]?, _ output: Output,
        _ progress: Progress
    ) throws -> (Int, String?) {
        struct Place: Decodable { let sequence: UInt64 }
        var next: UInt64 = 1
        if let last {
            guard let place = try? JSON.value(Place.self, last), place.sequence < .max else {
                throw Refusal("The last line of the file is no operation. Export to a new file.")
            }
            next = place.sequence + 1
        }
        let place = next > 1 ? "\(next - 1)" : nil
        let head = try store.read { try $0.lastSequence }
        let filter = LoggedOperation.Filter(entity: nil, key: nil, zone: zone)
        var count = 0
        while next <= head {
            let operations = try store.operations(
                from: next, limit: operationsMax, matching: filter
            )
            .prefix { $0.sequence <= head }
            guard let end = operations.last?.sequence else { break }
            for operation in operations {
                output.line(try JSON.line(LogDocument(operation, of: store)))
            }
            if output.isClosed { throw ReaderLeft() }
            count += operations.count
            progress.update(done: Int(end), total: Int(head))
            next = end + 1
        }
        return (count, place)
    }
}

/// The first line of an export with a schema.
struct SchemaLine: Codable {
    let schema: StoredSchema
}
