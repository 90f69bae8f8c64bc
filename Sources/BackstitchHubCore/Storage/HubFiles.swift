/// Where a hub keeps files: one for each content, named by its SHA-256 in hexadecimal digits.
///
/// Names come from the hub alone, so that no request can name another file.
package protocol HubFiles: Sendable {
    /// Takes the hub's data for this process alone, and removes what uploads left that were cut.
    ///
    /// - Throws: A failure that says who else has it.
    func beginServing() throws

    /// Lets others take the data.
    func endServing()

    /// Whether files can be written.
    var space: FileSpace { get }

    /// The place of a content; nil if the text is no checksum.
    func path(_ checksum: String) -> String?

    /// Whether a content is there.
    func holds(_ checksum: String) -> Bool

    /// The size of a content in bytes; nil if it is not there.
    func byteCount(_ checksum: String) -> Int?

    /// The place for an upload that begins.
    func incomingPath(_ name: [UInt8]) -> String

    /// Writes what was uploaded to its place.
    func write(_ bytes: [UInt8], to path: String) throws

    /// Removes an upload; nothing happens if it is not there.
    func discard(_ path: String)

    /// Keeps what was uploaded, so that it survives a power cut.
    func keep(_ path: String, checksum: String) throws

    /// Removes a content; nothing happens if it is not there.
    ///
    /// - Returns: Whether it is gone.
    func remove(_ checksum: String) -> Bool
}

/// Whether files can be written.
package enum FileSpace: Sendable {
    case left
    case full
    /// The place for files can't be looked at.
    case away
}
