import BackstitchCore

/// A reply or a part of one that is read.
package protocol WireReply {
    /// Reads the value; keys that it does not know are ignored.
    init(json: JSONObject) throws(WireFormatError)
}

/// A request or a part of one that is written.
package protocol WireRequest {
    /// Writes the members of the value.
    func write(to json: inout JSONWriter)
}

/// A request or a reply that is one JSON object.
package typealias WireBody = WireReply & WireRequest

extension WireReply {
    /// Reads the value from the bytes of a body, strictly: UTF-8, no key twice, bounded depth.
    ///
    /// An empty body counts as an object without members: clients leave it out where all keys may be
    /// absent.
    ///
    /// - Parameter depthMax: The most arrays and objects inside one another.
    package init(
        body: [UInt8], depthMax: Int = JSONParser.depthMax
    ) throws(WireFormatError) {
        guard !body.isEmpty else {
            self = try Self(json: .empty)
            return
        }
        self = try Self(json: JSONObject(body: body, depthMax: depthMax))
    }
}

extension WireRequest {
    /// The bytes of the value.
    ///
    /// - Parameter numbersAsStrings: Writes numbers of fields as text, for readers that keep
    ///   53 bits of an integer only.
    package func body(numbersAsStrings: Bool = false) -> [UInt8] {
        var json = JSONWriter(numbersAsStrings: numbersAsStrings)
        json.object { write(to: &$0) }
        return json.bytes
    }
}
