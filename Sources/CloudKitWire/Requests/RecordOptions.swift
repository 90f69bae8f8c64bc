/// What requests about records have in common.
package struct RecordOptions: Hashable, Sendable {
    /// The fields that replies carry; nil for all.
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool

    package init(desiredKeys: [String]? = nil, numbersAsStrings: Bool = false) {
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }

    init(json: JSONObject) throws(WireFormatError) {
        desiredKeys = try json.texts("desiredKeys")
        // One page of the reference spells the key without its first s.
        numbersAsStrings =
            try json.flag("numbersAsStrings", "numberAsStrings") ?? false
    }

    func write(to json: inout JSONWriter) {
        json.member("desiredKeys", texts: desiredKeys)
        if numbersAsStrings { json.member("numbersAsStrings", flag: true) }
    }
}
