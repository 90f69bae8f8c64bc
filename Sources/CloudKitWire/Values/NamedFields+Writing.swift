package import BackstitchCore

extension NamedFields {
    /// Writes the fields in the order of their names, each as an object with the value and its type.
    package func write(to json: inout JSONWriter) {
        withReader { reader in
            reader.visit { entry in
                unsafe json.object(utf8: entry.name) { entry.write(to: &$0) }
            }
        }
    }

    /// The size that the limits count, in bytes.
    package var countedBytes: Int {
        withReader { reader in
            var bytes = 0
            reader.visit { bytes += unsafe $0.name.count + $0.countedBytes }
            return bytes
        }
    }
}

extension NamedFieldEntry {
    fileprivate func write(to json: inout JSONWriter) {
        if tag == .string {
            json.element("value") { unsafe $0.text(utf8: payload) }
            json.member("type", ServiceFieldType.string.rawValue)
        } else {
            let value = decoded
            json.element("value") { value.write(to: &$0) }
            json.member("type", value.typeName)
        }
    }
}
