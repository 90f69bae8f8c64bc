import Backstitch
package import Terminal

/// A story of two devices that edit real data offline, synchronise and survive a crash.
package struct Demo {
    private let path: String?
    /// The package index; nil if the machine has none.
    private let reader: IndexReader?
    private let console: Console
    private let tell: (String) -> Void

    /// Reads the data, and says on the console what is left out of it.
    ///
    /// - Parameters:
    ///   - path: The file of a package index; nil takes the index of this machine, or the list of
    ///     countries if it has none.
    ///   - tell: Takes the lines of the story.
    /// - Throws: if the file can't be read or has no package.
    package init(
        input path: String?, _ console: Console, tell: @escaping (String) -> Void
    ) throws {
        self.path = path
        self.console = console
        self.tell = tell
        reader = try DemoInput.read(path, console) { problem in
            console.complain(
                "backstitch demo: line \(problem.line): \(problem.reason); the stanza is left out.")
        }
        if let reader, reader.malformed > IndexReader.reportsMax {
            console.complain(
                "backstitch demo: \((reader.malformed - IndexReader.reportsMax).grouped) more "
                    + "stanzas are left out.")
        }
    }

    /// Tells the story.
    ///
    /// - Parameters:
    ///   - folder: Where the stores are made.
    ///   - device: What this program is started with to be a device that synchronises with a hub;
    ///     nil for devices and a service in this process.
    /// - Returns: What was found, and what was wrong.
    package func run(
        in folder: String, device: DemoDeviceStart?
    ) async throws -> (report: DemoReport, failures: [String]) {
        let hub = device == nil ? nil : try await HubProcess(folder: folder + "/hub")
        defer { hub?.stop() }
        let cloud: any DemoCloud =
            if let hub, let device {
                HubDemoCloud(
                    process: hub, input: reader == nil ? .countries : .packages(path: path),
                    start: device)
            } else {
                SimulatedDemoCloud()
            }
        if let reader {
            tell(describe(reader))
            return try await tellStory(reader.index.data, cloud, folder)
        }
        let data = CountryData.data
        tell(
            "There is no package index on this machine: the data is "
                + "\(data.count.grouped) countries and subdivisions of ISO 3166.")
        return try await tellStory(data, cloud, folder)
    }

    private func tellStory<Record: DemoRecord>(
        _ data: DemoData<Record>, _ cloud: any DemoCloud, _ folder: String
    ) async throws -> (DemoReport, [String]) {
        var story = try await DemoStory(
            data, cloud: cloud, in: folder, console: console, tell: tell)
        defer { story.end() }
        try await story.run()
        return (story.report, story.failures)
    }

    private func describe(_ reader: IndexReader) -> String {
        let source = path?.printable ?? "the package index of this machine"
        var text =
            "The data: \(reader.stanzas.counted("stanza")) of \(source) (\(reader.bytes.asBytes)), "
            + "by name, version and architecture."
        if reader.malformed > 0 { text += " \(reader.malformed.grouped) malformed, left out." }
        if reader.index.repeats > 0 { text += " \(reader.index.repeats.grouped) repeated." }
        return text
    }
}
