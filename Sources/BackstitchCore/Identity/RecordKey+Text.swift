extension RecordKey {
    /// Reads a key from text; keys in other zones than the store's own carry their slot.
    package init(text: String) {
        if let end = text.firstIndex(of: "\u{1}"), let zone = UInt8(text[..<end]) {
            self.init(RecordName(String(text[text.index(after: end)...])), zone: zone)
        } else {
            self.init(RecordName(text))
        }
    }

    /// The key as text.
    package var text: String { zone == 0 ? "\(name)" : "\(zone)\u{1}\(name)" }
}
