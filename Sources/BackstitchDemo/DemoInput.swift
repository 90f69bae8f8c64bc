import Terminal

/// Where the data of the demo comes from.
package enum DemoInput {
    /// A package index: of a file, or of this machine.
    case packages(path: String?)
    /// The list of countries.
    case countries

    /// Reads a package index; nil if the machine has none.
    static func read(
        _ path: String?, _ console: Console, report: @escaping (Deb822Problem) -> Void
    ) throws -> IndexReader? {
        var reader = IndexReader(report: report)
        let bar = console.progress("Reading the package index")
        defer { bar.finish() }
        if let path {
            try reader.read(file: path) { bar.update(done: $0, total: $1) }
        } else {
            try reader.readMachine { bar.update(done: $0, total: $1) }
        }
        guard reader.index.isEmpty else { return reader }
        guard let path else { return nil }
        throw DemoFailure("\(path.printable) has no package in it that can be read.")
    }
}
