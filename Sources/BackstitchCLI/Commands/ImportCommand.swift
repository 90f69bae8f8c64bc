import Backstitch
import BackstitchStore
import Foundation
import Terminal

/// Saves records from JSON Lines.
struct ImportCommand: Command {
    private struct Document: Encodable {
        let store: String
        let file: String
        let lines: Int
        let inserted: Int
        let updated: Int
        let unchanged: Int
        let failed: Int
        let stopped: Bool
    }

    private struct BadLine: Encodable {
        let line: Int
        let reason: String
    }

    private static let strict = Syntax.Option(
        "strict", nil, "Stops at the first bad line, and keeps nothing of its transaction.")
    private static let adds = Syntax.Option(
        "add-attributes", nil, "Adds attributes that the store doesn't know, as they are.")

    private static let files = Syntax.Option(
        "files", "DIR", "Adds the files of a folder that 'export --files' wrote.")
    private static let creates = Syntax.Option(
        "create", nil, "Makes the store from the schema in the first line of the file.")
    /// The most bad lines that are told one by one; JSON tells all.
    private static let toldMax = 20
    /// The most bytes of a line with a schema.
    private static let schemaBytesMax = 64 << 20

    let name = "import"
    let summary = "Saves the records of JSON Lines that 'export' writes."
    let syntax = Syntax(
        operands: [
            .store,
            Syntax.Operand(name: "FILE", summary: "The file to read; '-' is standard input."),
        ], options: [creates, strict, adds, files, .json],
        notes: """
            The store must exist and know the entities, or is made by --create from a file that 'export
            --with-schema' wrote. Each line is saved as a whole record, and is
            to be pushed like any local save: declared attributes that are not in the line have no
            value afterwards. A record that is the same already makes no operation, so an import
            that was cut can be run again. Some thousand lines are kept together. Records that the
            file doesn't name stay. A record that holds a file is a bad line unless the store, the
            service or --files has the file.

            Bad lines are told on standard error with their number and what is wrong, and skipped; after
            20 of them, text tells only how many more there were.
            Exit codes: 0 every line is imported; 1 some are not; 2 it could not be done.

            JSON: one object. Bad lines are objects too, on standard error: line, reason.
              store, file  the paths as given
              lines        the number of lines that were read
              inserted, updated, unchanged
                           the number of records of each kind
              failed       the number of bad lines
              stopped      whether --strict ended it
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let (path, file) = (arguments.operands[0], arguments.operands[1])
        let isJSON = arguments.has(.json)
        let input = try InputFile(file)
        var (start, schema) = try Self.schema(from: input)
        if arguments.has(Self.creates) {
            guard let schema else {
                throw Refusal(
                    "The first line of '\(file.printable)' has no schema. Export it with "
                        + "--with-schema, or let a program make the store.")
            }
            try schema.makeStore(at: path)
        }
        let store = try Store.open(existing: path, access: .readWrite, checksPages: true)
        defer { store.close() }
        if let folder = arguments.text(Self.files) {
            _ = try await store.assets.importFiles(from: URL(filePath: folder))
        }
        let progress = console.progress("Importing bytes")
        defer { progress.finish() }
        var told = 0
        let report = try await store.importRecords(
            isStrict: arguments.has(Self.strict), addsAttributes: arguments.has(Self.adds),
            from: {
                defer { start = nil }
                return try start ?? input.next()
            },
            problem: { problem in
                told += 1
                let bad = BadLine(line: problem.line, reason: problem.reason.printable)
                let text = isJSON ? try? JSON.line(bad) : nil
                if isJSON || told <= Self.toldMax {
                    console.complain(text ?? "Line \(bad.line): \(bad.reason)")
                }
            },
            progress: { progress.update(done: $0.bytes, total: input.size ?? 0) })
        if !isJSON, told > Self.toldMax {
            console.complain("… and \((told - Self.toldMax).counted("more bad line")).")
        }
        progress.finish()
        if isJSON {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, file: file, lines: report.lines, inserted: report.inserted,
                        updated: report.updated, unchanged: report.unchanged,
                        failed: report.failed, stopped: report.isStopped)))
        } else {
            for line in Self.lines(report) { console.output.line(line) }
        }
        return report.failed == 0 ? .success : .negative
    }

    func interruptionText(_ arguments: Arguments) -> String? {
        "What was saved so far stays. Run it again: what is the same already makes no operation."
    }

    /// The schema in the first line of an input, and what comes behind it: an empty line in its place,
    /// so that lines keep their numbers. Without a schema, all that was read.
    private static func schema(from input: InputFile) throws -> ([UInt8]?, StoredSchema?) {
        guard var bytes = try input.next() else { return (nil, nil) }
        let mark = Array(#"{"schema":"#.utf8)
        guard bytes.starts(with: mark) else { return (bytes, nil) }
        while !bytes.contains(0x0A), let part = try input.next() {
            bytes += part
            guard bytes.count <= schemaBytesMax else {
                throw Refusal("The line with the schema has more than \(schemaBytesMax.asBytes).")
            }
        }
        let end = bytes.firstIndex(of: 0x0A) ?? bytes.endIndex
        guard let line = try? JSON.value(SchemaLine.self, Array(bytes[..<end])) else {
            throw Refusal("The schema in the first line can't be read. Export it again.")
        }
        return (Array(bytes[end...]), line.schema)
    }

    private static func lines(_ report: ImportReport) -> [String] {
        let done =
            "\(report.inserted.counted("record")) inserted, \(report.updated.grouped) updated, "
        let first =
            "Imported: " + done
            + "\(report.unchanged.grouped) unchanged; \(report.failed.counted("line")) failed."
        guard report.isStopped else { return [first] }
        return [
            first, "Stopped at the bad line: nothing of its transaction was kept.",
        ]
    }
}
