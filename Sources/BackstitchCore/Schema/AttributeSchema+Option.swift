extension AttributeSchema {
    /// An option of `@Attribute`.
    public enum Option: Hashable, Sendable {
        /// Keeps an index, so that queries by the attribute and sorts by it need not read every row.
        case indexed
        /// Refuses a save of a value that another record has within its zone; nil is no value. Keeps an
        /// index too.
        ///
        /// Checked when the write ends, so that records may swap values within one. Records that
        /// arrive by sync are never refused.
        case unique
        /// For `Decimal`: sends the number as text, which keeps every digit, and not as a double.
        case lossless
        /// Keeps the attribute on this device: it is stored, but never pushed and never pulled.
        case localOnly
        /// Takes the attribute over from the service and never pushes it: an edit of it stays on this
        /// device. What the service has is taken with every new version of the record; if it has
        /// nothing, the value here stays.
        case notUploaded
        /// Pushes the attribute and never takes it over: what is here stays, whatever the service has.
        case notDownloaded
        /// Does not store the property at all; it needs an initial value, which every read gives it.
        case transient
        /// Stores any `Codable` value as JSON in bytes. Queries can only ask whether it is nil.
        case codable
        /// Stores the properties of an `@Embeddable` struct as attributes of the record: `width` of the
        /// property `size` is the attribute `size_width`, and `\.size.width` in queries. Other options
        /// stand at the properties of the struct.
        case embedded
        /// For `Data`: keeps the bytes in a file beside the database, as those of an ``Asset``, and not in
        /// the row, so that they may be large. Each save of the record hashes them, and each read of it
        /// reads them. A record of the service whose bytes are not on this device yet can't be read as
        /// its type: `find` throws `notHere`, and queries leave it out. Queries can only ask whether the
        /// value is nil.
        case external
        /// For files: pushes a new or edited record before the file is uploaded, which follows as an
        /// update. Without it the record waits for its file.
        case afterwards
    }
}
