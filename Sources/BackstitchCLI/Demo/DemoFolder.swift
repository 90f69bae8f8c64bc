import BackstitchDemo
import Foundation
import Glibc
import Terminal

/// The folder with the stores of the demo.
struct DemoFolder {
    let path: String
    let isKept: Bool

    /// Makes a temporary folder, or takes the one that is to be kept, which must have no stores yet.
    init(keep: String?) throws {
        if let keep {
            path = keep
            isKept = true
            if FileManager.default.fileExists(atPath: keep + "/data.mdb") {
                throw UsageError(
                    "The folder \(keep.printable) is a store itself. Give another one.")
            }
            for name in ["a", "b", "fresh", "hub"]
            where FileManager.default.fileExists(atPath: keep + "/" + name) {
                throw UsageError("There is something at \(keep.printable)/\(name) already.")
            }
            do {
                try FileManager.default.createDirectory(
                    atPath: keep, withIntermediateDirectories: true)
            } catch {
                throw UsageError("The folder \(keep.printable) can't be made.")
            }
            return
        }
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/var/tmp"
        var template = Array((parent + "/backstitch-demo-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw DemoFailure(
                unsafe "No folder can be made in \(parent.printable): "
                    + String(cString: strerror(errno)) + ".")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        isKept = false
    }

    /// Removes the folder, unless it is to be kept.
    func remove() {
        if !isKept { try? FileManager.default.removeItem(atPath: path) }
    }
}
