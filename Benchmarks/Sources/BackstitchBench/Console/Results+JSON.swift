import BenchmarkKit
import Foundation

extension Results {
    /// All figures as a list in JSON.
    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(measurements)
        }
    }
}

extension Data {
    /// Writes a file, and the folder that it is in.
    func keep(at path: String) throws {
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try write(to: url)
    }
}
