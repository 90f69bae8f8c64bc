import LMDB

/// What is seen of a hub's folder from outside, while a hub may serve it.
package struct HubFolder: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Whether it has a data file, of a hub or of anything else.
    package var hasData: Bool { EnvironmentFiles(at: path).hasData }

    /// Throws if its data file is not a hub's alone. Nothing of the folder is changed.
    package func refuseOthers() throws { try LMDBHubStorage.refuseOthers(in: path) }

    /// Throws if a hub can't be served from there because of what it holds. Nothing of the folder is changed.
    ///
    /// - Parameter hasBucket: Whether the hub is given a bucket.
    package func check(hasBucket: Bool) throws {
        try LMDBHubStorage.check(path, hasBucket: hasBucket)
    }

    /// Whether a process serves it now.
    package var isServed: Bool { ServingLock.isTaken(in: path) }

    /// Another number whenever something was committed.
    package var commitMark: UInt64 {
        StatusFile(path + "/data.mdb").version ^ StatusFile(path + "/journal").version
    }

    /// The last requests that took long, a JSON object each, oldest first.
    package var slowRequests: [String] { SlowRequests.lines(of: path) }

    /// Another number whenever a request was slow.
    package var slowRequestsMark: UInt64 { SlowRequests.version(of: path) }
}
